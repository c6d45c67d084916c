"""What users hold: LinearGATE and GATE, their parameters, their files.

The modules in import order:

    hyperparameters, codec, base, region, fitted, registry, persistence, equal_vectors, embedder,
    reconstruction_errors, linear_fit, recommendations, linear_gate, onnx_file, gate_fit, gate,
    loading, estimate, runs
"""
