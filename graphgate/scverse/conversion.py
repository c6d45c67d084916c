"""AnnData <-> `Graph`."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.tables import checked_labels
from graphgate.preprocessing.attribute_encoder import AttributeEncoder
from graphgate.scverse.expression import obs_column
from graphgate.scverse.tissue import TissueOptions, tissue_graph


def from_anndata(
    adata: Any,
    *,
    obsp: str | None = None,
    radius: float | None = None,
    n_neighbors: int | None = None,
    batch_key: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    use_rep: str | None = None,
    labels_key: str | None = None,
    split_key: str | None = None,
) -> Graph:
    """The graph that `embed_anndata` learns from, with labels and splits.

    Only what the parameters name is read; other columns of obs, layers and so on are not used, and
    cells are not neighbors of themselves. Node ids are obs_names, feature names var_names.
    `labels_key` and `split_key` are columns of obs; for the other parameters see `embed_anndata`.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> places = np.stack(np.divmod(np.arange(36.0), 6), axis=1)
    >>> adata = anndata.AnnData(rng.random((36, 8)), obsm={"spatial": places})
    >>> from_anndata(adata, radius=1.0)
    Graph(36 nodes, 60 undirected edges, 8 dense features)
    """
    options = TissueOptions(*(obsp, radius, n_neighbors, batch_key, layer), neighbors_key, use_rep)
    labels = None
    if labels_key is not None:
        labels = checked_labels(_values(adata, labels_key), "obs", labels_key)
    splits = None
    if split_key is not None:
        column = np.array(_values(adata, split_key), dtype=object)
        names = dict.fromkeys(name for name in column if name is not None)
        splits = {str(name): column == name for name in names}
    return tissue_graph(adata, options, labels=labels, splits=splits)


def to_anndata(graph: Graph) -> Any:
    """An AnnData of the same nodes: X, obsp["connectivities"], and obs with "label" and "split".

    An AnnData names nodes by text; integer ids are kept in obs["id"]. Row i of the connectivities
    holds what node i attends over. Attributes are encoded by an `AttributeEncoder`; a graph with
    edges only has no X.

    Examples
    --------
    >>> graph = Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"])
    >>> to_anndata(graph).obs_names.tolist()
    ['p', 'q']
    """
    try:
        import anndata
        import pandas as pd
    except ImportError:
        raise InputError("to_anndata needs anndata: pip install 'graphgate[scverse]'") from None

    names = [str(node) for node in graph.ids.tolist()]
    if len(set(names)) != len(names):
        raise InputError("two node ids are equal as text, but an AnnData needs unique names")
    obs = pd.DataFrame(index=pd.Index(names, dtype=object))
    if graph.ids.dtype == np.int64:
        obs["id"] = graph.ids
    if graph.labels is not None:
        obs["label"] = pd.Categorical.from_codes(graph.labels, [*map(str, graph.classes)])
    if graph.splits:
        parts = np.select([*graph.splits.values()], range(len(graph.splits)), -1)
        obs["split"] = pd.Categorical.from_codes(parts, list(graph.splits))
    if graph.attributes is not None:
        encoder = AttributeEncoder().fit(graph.attributes)
        encoded = encoder.transform(graph.attributes)
        graph = graph.with_x(encoded, encoder.get_feature_names_out(), copy=False)
    features = graph.feature_names or [f"feature {column}" for column in range(graph.n_features)]
    x = None if graph.x is None else graph.x.copy()
    # Tools for AnnData expect SciPy's matrices, not its arrays.
    x = sp.csr_matrix(x) if sp.issparse(x) else x
    attended = sp.csr_matrix(graph.attended, copy=True)
    var = pd.DataFrame(index=pd.Index(list(features), dtype=object))
    return anndata.AnnData(x, obs=obs, var=var, obsp={"connectivities": attended})


def _values(adata: Any, key: str) -> list[Any]:
    values = obs_column(adata, key)
    return [None if gone else value for value, gone in zip(values, values.isna(), strict=True)]
