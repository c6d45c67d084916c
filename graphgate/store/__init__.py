"""A graph that grows, with the vectors of its nodes.

The modules in import order:

    neighbors, vector_index, lance_tables, database, records, region, growth, alignment, drift,
    erasure, batch, changes, updates, info, view, store
"""
