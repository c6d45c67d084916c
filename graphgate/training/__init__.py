"""The plan of a run, its objective, and the loop.

The modules in import order:

    distributed, tall_matrix, blocked_step, plan, memory, objective, sampling, adam, history,
    checkpoint, loop
"""
