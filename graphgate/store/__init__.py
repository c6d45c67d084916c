"""A graph that grows, with the vectors of its nodes.

The modules in import order:

    neighbors, vector_index, database, records, region, growth, batch, changes, view, store
"""
