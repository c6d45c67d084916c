"""Figures, and the interactive page.

The modules in import order:

    node_map, bars, edge_map, loss_curve, page, gallery
"""
