"""Figures, and the interactive page.

The modules in import order:

    maps, charts, page, gallery
"""
