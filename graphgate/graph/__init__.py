"""The attributed graph, validated once, when it is created.

The modules in import order:

    validation, notebook, ordering, column_kinds, text_words, attributes, arrays, edges, graph,
    joining, link_split
"""
