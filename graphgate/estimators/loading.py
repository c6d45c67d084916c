"""Model files of any estimator."""

from pathlib import Path

from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.linear_persistence import KIND
from graphgate.io.tensors import file_kind


def load_model(path: str | Path) -> LinearGATE | GATE:
    """The model that `save` wrote to a file, whichever estimator it is of.

    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    >>> LinearGATE(n_components=2).fit(graph).save("model.safetensors")
    >>> load_model("model.safetensors").transform(graph).shape
    (4, 2)
    """
    return LinearGATE.load(path) if file_kind(path) == KIND else GATE.load(path)
