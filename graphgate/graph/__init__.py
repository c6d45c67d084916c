"""The attributed graph, validated once, when it is made.

The modules in import order:

    validation, ordering, attributes, edges, graph, link_split
"""
