"""A self-contained HTML page to explore an embedded graph.

The modules in import order:

    node_columns, page_content, deckgl, page_html, page_server
"""
