"""What users hold: GATE, its parameters, its files.

The modules in import order:

    hyperparameters, base, persistence, embedded_graph, gate, estimate, runs
"""
