"""Model files of any estimator."""

from pathlib import Path

from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.linear_persistence import KIND
from graphgate.io.tensors import file_kind


def load_model(path: str | Path) -> LinearGATE | GATE:
    """The model that `save` wrote to a file, whichever estimator it is of.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     LinearGATE(n_components=2).fit([[1.0], [2.0], [4.0]]).save(f"{folder}/model")
    ...     load_model(f"{folder}/model").transform([[3.0]]).shape
    (1, 2)
    """
    return LinearGATE.load(path) if file_kind(path) == KIND else GATE.load(path)
