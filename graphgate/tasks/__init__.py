"""From any object to an embedding, and uses of it: classes, clusters, links.

The modules in import order:

    holdings, node_classifier, classification, clustering, domains, links, edge_attention, pooling
"""
