"""A store over HTTP: nodes, similar nodes, suggested edges, and new nodes.

The modules in import order:

    access, messages, metrics, live_index, served, searches, problems, guard, replies, reference,
    application, connections, server
"""
