"""Attributes or edges -> features.

The modules in import order:

    column_rules, vocabulary_rules, structural, attribute_encoder
"""
