"""Benchmark graphs and their splits.

The modules in import order:

    download, unpickler, splits, planetoid, bundled, citation, archives, synthetic
"""
