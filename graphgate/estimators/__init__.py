"""What users hold: LinearGATE and GATE, their parameters, their files.

The modules in import order:

    hyperparameters, codec, base, region, fitted, registry, persistence, embedder, equal_vectors,
    reconstruction_errors, linear_fit, linear_gate, onnx_file, gate_fit, gate, loading,
    linear_estimate, estimate, runs
"""
