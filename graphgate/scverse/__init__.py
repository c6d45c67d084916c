"""AnnData in and out: spatial omics.

The modules in import order:

    expression, tissue, conversion, annotate, domains
"""
