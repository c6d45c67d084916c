"""The methods that GATE is compared with, in the paper and here, behind the contract of `GATE`.

The modules in import order:

    inputs, contract, untrained, smoothing, deepwalk, convolution_embedders, cca_ssg, graphmae,
    graphsage, planetoid, supervised, convolution_classifiers, stogcn
"""
