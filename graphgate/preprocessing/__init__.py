"""Attributes or edges -> features.

The modules in import order:

    column_rules, structural, attribute_encoder
"""
