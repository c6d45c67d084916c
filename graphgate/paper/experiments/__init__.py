"""The paper's tables as data, one TOML file per method and dataset, and the runner that resumes.

The modules in import order:

    experiment, methods, limited_run, protocol, quality, run_store, parallel, evaluation, grid,
    results_table, comparison_table, reproduce
"""
