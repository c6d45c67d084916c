"""A store over HTTP: nodes, similar nodes, suggested edges, and new nodes.

The modules in import order:

    access, messages, metrics, live_index, served, batches, guard,
    answers, reference, application, protocol, server
"""
