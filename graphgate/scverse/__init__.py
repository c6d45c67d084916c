"""AnnData in and out: spatial omics.

The modules in import order:

    tissue, conversion, domains, embed
"""
