"""Uses of an embedding: neighbors, classes, clusters, links.

The modules in import order:

    neighbors, classification, clustering, links, edge_attention, pooling
"""
