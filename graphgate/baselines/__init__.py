"""The methods that the paper compares GATE with, one file each, behind the interface of `GATE`.

A method is a dataclass whose fields are its settings, each with the published value as default,
and `random_state`. It learns from a `Graph` and starts afresh whenever `fit` is called:

    fit(graph) -> self

A method that embeds keeps (N, D) vectors of the nodes it was fitted on in `embedding_` and, if it
can embed nodes it has not seen, has `transform(graph) -> (N', D)`. It is given a graph without
labels. A method that classifies has `predict(graph) -> (N',) positions in graph.classes`, also of
nodes it has not seen if it can. The graph it learns from shows the labels of the splits "train"
and "val" (-1 elsewhere); it learns from the first and may stop or choose by the second.

Randomness comes from `random_state` alone: the same graph, seed and number of threads give the
same bytes, and the state of the caller's random generators is as it was.
"""
