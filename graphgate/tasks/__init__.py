"""From any object to an embedding, and uses of it: classes, clusters, links.

The modules in import order:

    holdings, node_classifier, classification, cluster_number, description, clustering, domains,
    comparison, outliers, links, edge_attention, pooling
"""
