"""What users hold: LinearGATE and GATE, their parameters, their files.

The modules in import order:

    hyperparameters, base, region, fitted, embedder, equal_vectors, reconstruction_errors,
    persistence, linear_fit, linear_persistence, linear_gate, onnx_file, gate_fit, gate, registry,
    loading, linear_estimate, estimate, runs
"""
