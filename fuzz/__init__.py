"""Random and hostile inputs: files for every parser, commands, and operations on stores.

python -m fuzz NAME --json FILE      NAME is parsers, hostile, refusals or stores
"""
