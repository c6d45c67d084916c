"""A self-contained HTML page to explore an embedded graph.

The modules in import order:

    node_columns, page_content, page_html, page_server
"""
