"""Figures, and the interactive page.

The modules in import order:

    maps, page, gallery
"""
