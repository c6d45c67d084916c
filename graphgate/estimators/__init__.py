"""What users hold: GATE, its parameters, its files.

The modules in import order:

    presets, hyperparameters, base, persistence, gate, training_time, estimate, runs
"""
