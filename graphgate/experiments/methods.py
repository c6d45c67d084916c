"""The methods of the tables, in order, and how one is created from its name.

A user's own method is named by its location, `module:Class`; see docs/reproduce.md.
"""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module, reload
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE

quiet_gate = partial(GATE, progress=False)


@dataclass(frozen=True)
class Method:
    """A row of a table.

    home : "module:name" of the class (or function) that takes the parameters, and random_state if
        it draws random numbers.
    title : its name in the table.
    sees : what it learns from: features X, adjacency A, labels Y.
    tables : the tables that the row belongs to; "paper" is the paper's own, in two halves. Others
        contain the row only if it is asked for.
    features : False if the method is given the datasets without their features.
    """

    name: str
    home: str
    title: str
    sees: str
    tables: tuple[str, ...] = ("paper",)
    features: bool = True

    def make(self, params: Mapping[str, Any], random_state: int) -> Any:
        """A new, unfitted instance."""
        maker = self._maker()
        known = signature(maker).parameters
        for name, value in params.items():
            self._check(name, value, known[name].default if name in known else None)
        any_name = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
        seed = {"random_state": random_state} if "random_state" in known or any_name else {}
        try:
            return maker(**params, **seed)
        except TypeError as error:
            raise InputError(f"the method {self.name!r} cannot be created: {error}") from None

    def _check(self, name: str, value: Any, default: Any) -> None:
        """Refuse a value unlike the default, which would fail deep inside the training."""
        wanted = ""
        if isinstance(default, int | float) and not isinstance(value, int | float):
            wanted = "a number"
        elif self.name not in METHODS or value == default:
            return
        elif isinstance(default, bool):
            wanted = "" if isinstance(value, bool) else "true or false"
        elif isinstance(default, int):
            least = 0 if name.endswith("_steps") else min(default, 1)
            wanted = "" if type(value) is int and value >= least else f"an integer ≥ {least}"
        elif isinstance(default, float):
            most = 1.0 if name in _FRACTIONS else sys.float_info.max
            named = "a number from 0 to 1" if most == 1 else "a number ≥ 0"
            wanted = "" if 0 <= value <= most else named
        if wanted:
            raise InputError(f"{name} of the method {self.name!r} must be {wanted}, got {value!r}")

    def code(self) -> str | None:
        """A digest of the source of a user's own method; None for the methods of this package.

        Runs of other code are other runs. A module that has changed since it was imported is
        imported again, so that the code that runs is the code of the digest.
        """
        if self.name in METHODS:
            return None
        names = dict.fromkeys([self._maker().__module__, self.home.partition(":")[0]])
        modules = [import_module(name) for name in names]
        files = [file for module in modules if (file := getattr(module, "__file__", None))]
        source = b"".join(Path(file).read_bytes() for file in files)
        digest = hashlib.sha256(source).hexdigest()[:16]
        if _imported.setdefault(self.home, digest) != digest:
            for module in modules:
                reload(module)
            _imported[self.home] = digest
        return digest

    def _maker(self) -> Any:
        module, _, name = self.home.partition(":")
        try:
            return getattr(import_module(module), name)
        except ImportError as error:
            if error.name in ("torch_geometric", "gensim"):
                raise InputError(
                    f"the method {self.name!r} needs {error.name}: "
                    "pip install 'graphgate[baselines]'"
                ) from None
            raise InputError(f"the method {self.name!r} cannot be imported: {error}") from None
        except AttributeError:
            raise InputError(f"there is no {name!r} in the module {module!r}") from None


_FRACTIONS = ("attention_dropout", "dropout", "edge_drop", "feature_mask", "mask", "replace")
_imported: dict[str, str] = {}  # home -> digest of the source that is in memory
_BASELINES = "graphgate.baselines"
_GATE = "graphgate.experiments.methods:quiet_gate"
_LINEAR = "graphgate.estimators.linear_gate:LinearGATE"
_OURS = ("formulations", "ablation", "edges", "answers", "unseen")
_SAGE = f"{_BASELINES}.graphsage:GraphSAGE"
_SMOOTHING = f"{_BASELINES}.smoothing:Smoothing"
METHODS = {
    method.name: method
    for method in (
        Method("raw", f"{_BASELINES}.untrained:RawFeatures", "Raw features", "X"),
        Method("deepwalk", f"{_BASELINES}.deepwalk:DeepWalk", "DeepWalk", "A", ("paper", "edges")),
        Method(
            "label-propagation",
            f"{_BASELINES}.untrained:LabelPropagation",
            "Label propagation",
            "A, Y",
        ),
        Method(
            "deepwalk-features",
            f"{_BASELINES}.deepwalk:DeepWalkFeatures",
            "DeepWalk + features",
            "X, A",
        ),
        Method("graphsage-lstm", _SAGE, "GraphSAGE-LSTM", "X, A"),
        Method("graphsage-pool", _SAGE, "GraphSAGE-pool", "X, A"),
        Method(
            "vgae", f"{_BASELINES}.convolution_embedders:VGAE", "VGAE", "X, A", ("paper", "answers")
        ),
        Method("graphsage-mean", _SAGE, "GraphSAGE-mean", "X, A"),
        Method("graphsage-gcn", _SAGE, "GraphSAGE-GCN", "X, A"),
        Method(
            "gae", f"{_BASELINES}.convolution_embedders:GAE", "GAE", "X, A", ("paper", "answers")
        ),
        Method("dgi", f"{_BASELINES}.convolution_embedders:DGI", "DGI", "X, A"),
        Method("gate", _GATE, "GATE", "X, A", ("paper", *_OURS)),
        Method("linear", _LINEAR, "LinearGATE", "X, A", ("unseen",)),
        Method("linear-no-structure", _LINEAR, "LinearGATE, no structure", "X, A", ("unseen",)),
        Method("planetoid-t", f"{_BASELINES}.planetoid:PlanetoidT", "Planetoid-T", "X, A, Y"),
        Method("planetoid-i", f"{_BASELINES}.planetoid:PlanetoidI", "Planetoid-I", "X, A, Y"),
        Method(
            "chebyshev", f"{_BASELINES}.convolution_classifiers:Chebyshev", "Chebyshev", "X, A, Y"
        ),
        Method("monet", f"{_BASELINES}.convolution_classifiers:MoNet", "MoNet", "X, A, Y"),
        Method("gcn", f"{_BASELINES}.convolution_classifiers:GCN", "GCN", "X, A, Y"),
        Method("stogcn", f"{_BASELINES}.stogcn:StoGCN", "StoGCN", "X, A, Y"),
        Method("gat", f"{_BASELINES}.convolution_classifiers:GAT", "GAT", "X, A, Y"),
        Method("gate-edges", _GATE, "GATE, edges alone", "A", ("edges",), features=False),
        Method("gate-paper", _GATE, "GATE, the paper's text", "X, A", ("formulations",)),
        Method("gate-no-features", _GATE, "GATE/F, no feature loss", "X, A", ("ablation",)),
        Method("gate-no-structure", _GATE, "GATE/S, no structure loss", "X, A", ("ablation",)),
        Method("gate-uniform", _GATE, "GATE/A, α = 1/|N|", "X, A", ("ablation",)),
        Method("gate-ones", _GATE, "GATE/A, α = 1", "X, A", ("ablation",)),
        Method("raw-svd", f"{_BASELINES}.smoothing:RawSVD", "Raw SVD", "X", ()),
        Method("smoothing-2", _SMOOTHING, "S²GC, K = 2", "X, A", ()),
        Method("smoothing-16", _SMOOTHING, "S²GC, K = 16", "X, A", ()),
        Method("cca-ssg", f"{_BASELINES}.cca_ssg:CCASSG", "CCA-SSG", "X, A", ()),
        Method("graphmae", f"{_BASELINES}.graphmae:GraphMAE", "GraphMAE", "X, A", ()),
    )
}


def find_method(name: str) -> Method:
    """A method of the list, or a user's own as `module:Class`."""
    if name in METHODS:
        return METHODS[name]
    module, _, thing = name.partition(":")
    if module and thing and not module.startswith("."):
        return Method(name, name, name, "?", ())
    raise InputError(
        f"unknown method {name!r}; use one of {', '.join(METHODS)}, or module:Class for your own"
    )
