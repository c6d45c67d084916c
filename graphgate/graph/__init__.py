"""The attributed graph, validated once, when it is made.

The modules in import order:

    validation, ordering, column_kinds, attributes, arrays, edges, graph, link_split
"""
