"""What users hold: LinearGATE and GATE, their parameters, their files.

The modules in import order:

    hyperparameters, base, persistence, linear_persistence, linear_gate, embedded_graph,
    gate, loading, estimate, runs
"""
