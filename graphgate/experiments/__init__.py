"""The paper's tables as data, one TOML file per method and dataset, and the runner that resumes.

The modules in import order:

    measure, methods, experiment, protocol, run_store, parallel, evaluation, grid, results_table,
    reproduce, limited_run, quality, quality_table
"""
