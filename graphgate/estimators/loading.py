"""Model files of any estimator."""

from pathlib import Path

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.linear_persistence import KIND
from graphgate.io.tensors import file_kind

Estimator = LinearGATE | GATE


def load_model(path: str | Path, *, device: str | None = None) -> Estimator:
    """The model that `save` wrote to a file, whichever estimator it is of.

    device : where a `GATE` computes; the default is "cpu". `LinearGATE` has none.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     LinearGATE(n_components=2).fit([[1.0], [2.0], [4.0]]).save(f"{folder}/model")
    ...     load_model(f"{folder}/model").transform([[3.0]]).shape
    (1, 2)
    """
    if file_kind(path) != KIND:
        return GATE.load(path, device=device or "cpu")
    if device is not None:
        raise InputError(f"{path} holds a LinearGATE, which has no device; omit it")
    return LinearGATE.load(path)
