"""Benchmark graphs and their splits.

The modules in import order:

    bundled, download, unpickler, splits, planetoid, citation
"""
