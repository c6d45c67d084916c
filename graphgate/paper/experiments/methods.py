"""The methods of the tables, in order.

A user's own method is named by its location, `module:Class`; see docs/reproduce.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from graphgate.estimators.registry import Method, find_method, register


@dataclass(frozen=True)
class Row(Method):
    """A method as a row of tables.

    sees : what it learns from: features X, adjacency A, labels Y.
    features : False if the method is given the datasets without their features.
    """

    sees: str = "?"
    features: bool = True

    def published_params(self, dataset: str, setting: str) -> Mapping[str, Any]:
        from graphgate.paper.experiments.experiment import find_experiment

        experiment = find_experiment(self.name, dataset, setting)
        return {} if experiment is None else experiment.params


_BASELINES = "graphgate.paper.baselines"
_GATE = "graphgate.estimators.gate:GATE"
_LINEAR = "graphgate.estimators.linear_gate:LinearGATE"
_SAGE = f"{_BASELINES}.graphsage:GraphSAGE"
_SMOOTHING = f"{_BASELINES}.smoothing:Smoothing"
_EMBEDDERS = f"{_BASELINES}.convolution_embedders"
_CLASSIFIERS = f"{_BASELINES}.convolution_classifiers"
ROWS = {
    row.name: row
    for row in (
        Row("raw", f"{_BASELINES}.untrained:RawFeatures", "Raw features", "X"),
        Row("deepwalk", f"{_BASELINES}.deepwalk:DeepWalk", "DeepWalk", "A"),
        Row(
            "label-propagation",
            f"{_BASELINES}.untrained:LabelPropagation",
            "Label propagation",
            "A, Y",
        ),
        Row(
            "deepwalk-features",
            f"{_BASELINES}.deepwalk:DeepWalkFeatures",
            "DeepWalk + features",
            "X, A",
        ),
        Row("graphsage-lstm", _SAGE, "GraphSAGE-LSTM", "X, A"),
        Row("graphsage-pool", _SAGE, "GraphSAGE-pool", "X, A"),
        Row("vgae", f"{_EMBEDDERS}:VGAE", "VGAE", "X, A"),
        Row("graphsage-mean", _SAGE, "GraphSAGE-mean", "X, A"),
        Row("graphsage-gcn", _SAGE, "GraphSAGE-GCN", "X, A"),
        Row("gae", f"{_EMBEDDERS}:GAE", "GAE", "X, A"),
        Row("dgi", f"{_EMBEDDERS}:DGI", "DGI", "X, A"),
        Row("gate", _GATE, "GATE", "X, A"),
        Row("linear", _LINEAR, "LinearGATE", "X, A"),
        Row("linear-no-structure", _LINEAR, "LinearGATE, no structure", "X, A"),
        Row("planetoid-t", f"{_BASELINES}.planetoid:PlanetoidT", "Planetoid-T", "X, A, Y"),
        Row("planetoid-i", f"{_BASELINES}.planetoid:PlanetoidI", "Planetoid-I", "X, A, Y"),
        Row("chebyshev", f"{_CLASSIFIERS}:Chebyshev", "Chebyshev", "X, A, Y"),
        Row("monet", f"{_CLASSIFIERS}:MoNet", "MoNet", "X, A, Y"),
        Row("gcn", f"{_CLASSIFIERS}:GCN", "GCN", "X, A, Y"),
        Row("stogcn", f"{_BASELINES}.stogcn:StoGCN", "StoGCN", "X, A, Y"),
        Row("gat", f"{_CLASSIFIERS}:GAT", "GAT", "X, A, Y"),
        Row("gate-edges", _GATE, "GATE, edges alone", "A", features=False),
        Row("gate-paper", _GATE, "GATE, the paper's text", "X, A"),
        Row("gate-no-features", _GATE, "GATE/F, no feature loss", "X, A"),
        Row("gate-no-structure", _GATE, "GATE/S, no structure loss", "X, A"),
        Row("gate-uniform", _GATE, "GATE/A, α = 1/|N|", "X, A"),
        Row("gate-ones", _GATE, "GATE/A, α = 1", "X, A"),
        Row("raw-svd", f"{_BASELINES}.smoothing:RawSVD", "Raw SVD", "X"),
        Row("smoothing-2", _SMOOTHING, "S²GC, K = 2", "X, A"),
        Row("smoothing-16", _SMOOTHING, "S²GC, K = 16", "X, A"),
        Row("cca-ssg", f"{_BASELINES}.cca_ssg:CCASSG", "CCA-SSG", "X, A"),
        Row("graphmae", f"{_BASELINES}.graphmae:GraphMAE", "GraphMAE", "X, A"),
    )
}
register(ROWS.values())


def find_row(name: str) -> Row:
    """A row of the list, or a user's own method as `module:Class`."""
    return ROWS.get(name) or Row(**vars(find_method(name)))


def source_digest(name: str) -> str | None:
    """A digest of the source of a user's own method; None for the methods of this package.

    A run of different code is a different run. The source is read when a class is first used, so
    that the digest is that of the code in memory.
    """
    if name in ROWS:
        return None
    method = find_method(name)
    return _digest(method.maker(), method.home.partition(":")[0])


@cache
def _digest(maker: Any, module: str) -> str:
    names = dict.fromkeys([maker.__module__, module])
    files = [file for name in names if (file := getattr(import_module(name), "__file__", None))]
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:16]
