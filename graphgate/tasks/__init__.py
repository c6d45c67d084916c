"""Uses of an embedding: neighbors, clusters, classes, links.

The modules in import order:

    probe, clustering, clusters, edge_attention, labels, links, neighbors, classes
"""
