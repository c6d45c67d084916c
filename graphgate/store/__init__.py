"""A graph that grows, with the vectors of its nodes.

The modules in import order:

    neighbors, vector_index, conditions, lance_tables, database, records, region, growth, alignment,
    drift, batch, changes, updates, info, view, store
"""
