"""What users hold: LinearGATE and GATE, their parameters, their files.

The modules in import order:

    hyperparameters, base, persistence, embedded_graph, equal_vectors, linear_persistence,
    linear_gate, onnx_file, gate, loading, registry, linear_estimate, estimate, runs
"""
