"""The plan of a run of GATE, its objective, and the loop.

The modules in import order:

    plan, memory, objective, sampling, parts, part_objective, adam, history,
    checkpoint, loop, run
"""
