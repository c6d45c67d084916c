"""A graph that grows, with the vectors of its nodes.

The modules in import order:

    layout, checksums, index_cache, vector_index, conditions, lance_manifest, versions,
    lance_tables, consistency, database, check, records, drift, change, info, view, store
"""
