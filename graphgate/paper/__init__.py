"""The reproduction of the paper: its methods, tables, figures and commands.

The modules in import order:

    baselines    the methods that GATE is compared with
    experiments  the tables as data, and the runner that resumes
    charts       the bar charts of the ablation
    commands     demo, evaluate, figures and reproduce
"""
