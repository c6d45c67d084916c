"""The paper's tables as data, one small TOML a method and dataset, and the runner that resumes.

The modules in import order:

    methods, scores, measure, experiment, protocol, report, tasks, workers, trial, evaluate,
    runner, table
"""
