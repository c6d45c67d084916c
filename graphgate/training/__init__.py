"""The plan of a run, its objective, and the loop.

The modules in import order:

    measure, distributed, tall_matrix, sparse_operator, speed, blocked_step, plan, memory, plan_log,
    objective, sampling, parts, part_objective, adam, history, checkpoint, loop, run
"""
