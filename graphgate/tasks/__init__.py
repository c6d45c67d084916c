"""Uses of an embedding: classes, clusters, links.

The modules in import order:

    classification, clustering, links, edge_attention, pooling
"""
