"""The methods that the paper compares GATE with, behind the contract of `GATE`.

The modules in import order:

    inputs, contract, untrained, deepwalk, convolution_embedders, graphsage, planetoid, supervised,
    convolution_classifiers, stogcn
"""
