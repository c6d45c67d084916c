"""From any object to an embedding, and uses of it: classes, clusters, links.

The modules in import order:

    embed, inspection, classification, node_classifier, cluster_number, description, clustering,
    comparison, outliers, link_metrics, hard_negatives, links, edge_attention, pooling
"""
