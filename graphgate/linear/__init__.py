"""The linear auto-encoder, solved instead of trained.

With σ = identity the auto-encoder is linear in the features, so its best weights need no gradient
descent. Every constant here was chosen without labels, or on validation figures of development
graphs (see docs/linear.md), and is the same for all graphs. Begin with `model`, which stands beside
docs/linear_form.md line by line.

The modules in import order:

    linear_plan, propagation, matrices, coordinates, structure, ridge, logistic, evidence, weights,
    model, attribution, state_update, neighborhoods, edge_decoder, node_groups, link_proposals,
    recommendation, report, solution
"""
