"""The linear auto-encoder, solved instead of trained.

With σ = identity the auto-encoder is linear in the features, so its best weights need no gradient
descent. Every constant here was chosen without labels, or on validation figures of development
graphs (see docs/linear.md), and is the same for all graphs.

Products with the graph act on columns, and all else on rows. So columns are computed block by
block, in memory or into a file, and rows are read chunk by chunk; several processes share the
blocks, and then the rows.

The modules in import order:

    linear_plan, scratch, workspace, decomposition, coordinates, propagation, node_states,
    state_update, reconstruction, structure, linear_model, edge_decoder, link_proposals, report,
    solution
"""
