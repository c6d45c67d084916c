"""The plan of a run, its objective, and the loop.

The modules in import order:

    optimizers, machine, objective, plan, sampling, loop, memory
"""
