"""The methods that the paper compares GATE with, behind the contract of `GATE`.

The modules in import order:

    inputs, embedder, classifier, raw, deepwalk, gae, dgi, graphsage, label_propagation, planetoid,
    supervised, gcn, chebyshev, monet, stogcn, gat
"""
