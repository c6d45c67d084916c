"""The methods that the paper compares GATE with, one file each, behind the interface of `GATE`.

The modules in import order:

    tensors, label_propagation, convolution, deepwalk, graphsage, planetoid, raw,
    supervised, dgi, gae, deepwalk_features, chebyshev, gat, gcn, monet, stogcn, vgae
"""
