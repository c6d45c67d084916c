"""One self-contained HTML page to explore an embedded graph.

The modules in import order:

    columns, nearest, server, content, html
"""
