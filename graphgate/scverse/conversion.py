"""AnnData <-> `Graph`, for all that takes a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.preprocessing.attribute_encoder import AttributeEncoder
from graphgate.scverse.tissue import SPATIAL, Neighborhood, shown_keys, tissue_graph

CONNECTIVITIES = "connectivities"


def graph_from_anndata(
    adata: Any,
    *,
    neighbors: str = SPATIAL,
    radius: float | None = None,
    k: int | None = None,
    slices: str | None = None,
    layer: str | None = None,
    label: str | None = None,
    split: str | None = None,
) -> Graph:
    """The graph that `embed_anndata` would learn from, with the labels and splits of obs.

    Cells are named by obs_names, features by var_names. `label` and `split` are columns of obs.
    """
    how = Neighborhood.checked(neighbors, radius, k, slices, layer)
    graph = tissue_graph(adata, how)
    labels = None if label is None else _values(adata, label)
    splits = None if split is None else _values(adata, split)
    return Graph(
        graph.x,
        graph.adjacency,
        ids=graph.ids,
        labels=labels,
        splits=None
        if splits is None
        else {
            str(name): np.array([value == name for value in splits])
            for name in dict.fromkeys(splits)
            if name is not None
        },
        directed=graph.directed,
        feature_names=graph.feature_names,
    )


def to_anndata(graph: Graph) -> Any:
    """An AnnData of the same nodes: X, obsp["connectivities"], and obs with "label" and "split".

    Names are text in an AnnData; ids that are not are kept in obs["id"]. Row i of the
    connectivities holds what node i attends over. Attributes are encoded by an `AttributeEncoder`.
    """
    try:
        import anndata
        import pandas as pd
    except ImportError:
        raise InputError("this needs AnnData: pip install 'graphgate[scverse]'") from None

    ids = graph.ids.tolist()
    names = [str(node) for node in ids]
    if len(set(names)) != len(names):
        raise InputError("two ids are the same as text, which an AnnData names nodes by")
    obs = pd.DataFrame(index=pd.Index(names, dtype=object))
    if graph.ids.dtype == np.int64:
        obs["id"] = graph.ids
    if graph.labels is not None:
        classes = [None if code < 0 else str(graph.classes[code]) for code in graph.labels]
        obs["label"] = pd.Categorical(classes, categories=[str(name) for name in graph.classes])
    if graph.splits:
        parts = np.full(graph.n_nodes, None, dtype=object)
        for name, mask in graph.splits.items():
            parts[mask] = name
        obs["split"] = pd.Categorical(parts, categories=list(graph.splits))
    if graph.attributes is not None:
        encoder = AttributeEncoder().fit(graph.attributes)
        x = encoder.transform(graph.attributes)
        graph = graph.with_x(x, encoder.get_feature_names_out(), copy=False)
    features = graph.feature_names or [f"feature {at}" for at in range(graph.n_features)]
    x = sp.csr_matrix(graph.x, copy=True) if sp.issparse(graph.x) else np.array(graph.x)
    x = None if graph.x is None else x
    # Tools for AnnData expect SciPy's matrices, not its arrays.
    ties = sp.csr_matrix(graph.attended, copy=True)
    var = pd.DataFrame(index=pd.Index(list(features), dtype=object))
    return anndata.AnnData(x, obs=obs, var=var, obsp={CONNECTIVITIES: ties})


def _values(adata: Any, column: str) -> list[Any]:
    if column not in adata.obs:
        raise InputError(f"obs has no column {column!r}; its columns are {shown_keys(adata.obs)}")
    values = adata.obs[column]
    missing = values.isna()
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]
