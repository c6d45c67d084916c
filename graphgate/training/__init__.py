"""The plan of a run, its objective, and the loop.

The modules in import order:

    adam, history, checkpoint, machine, objective, plan, sampling, loop, memory
"""
