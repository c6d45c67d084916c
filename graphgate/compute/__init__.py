"""What methods compute with: the machine, its processes, and matrices with one row per node.

The modules in import order:

    counts, machine, measure, row_bags, sparse_operator, speed, processes, plan_log, tall_matrix,
    scratch, columns, draws, decomposition, neighbors
"""
