"""The methods of the tables, in their order, and how one is made from its name.

A method of one's own is named by where it is, `module:Class`; see docs/reproduce.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE

quiet_gate = partial(GATE, progress=False)


@dataclass(frozen=True)
class Method:
    """A row of a table.

    home : "module:name" of the class (or function) that is called with settings and random_state.
    title : as the table names it.
    sees : what it learns from: features X, adjacency A, labels Y.
    tables : those that the row belongs to; "paper" is the paper's own, in two halves.
    """

    name: str
    home: str
    title: str
    sees: str
    tables: tuple[str, ...] = ("paper",)

    def make(self, settings: Mapping[str, Any], seed: int) -> Any:
        """A fresh one."""
        module, _, name = self.home.partition(":")
        try:
            maker = getattr(import_module(module), name)
        except ImportError as error:
            if error.name in ("torch_geometric", "gensim"):
                raise InputError(
                    f"the method {self.name!r} needs {error.name}: "
                    "pip install 'graphgate[baselines]'"
                ) from None
            raise InputError(f"the method {self.name!r} cannot be imported: {error}") from None
        except AttributeError:
            raise InputError(f"there is no {name!r} in the module {module!r}") from None
        self._check(settings, maker)
        try:
            return maker(**settings, random_state=seed)
        except TypeError as error:
            raise InputError(f"the method {self.name!r} cannot be made: {error}") from None

    def _check(self, settings: Mapping[str, Any], maker: Any) -> None:
        """A word where a number belongs is refused here, before it fails deep in a training."""
        known = signature(maker).parameters
        for name, value in settings.items():
            default = known[name].default if name in known else None
            if isinstance(default, int | float) and not isinstance(value, int | float):
                raise InputError(f"{name} of the method {self.name!r} is a number, got {value!r}")


_BASELINES = "graphgate.baselines"
_GATE = "graphgate.experiments.methods:quiet_gate"
_OURS = ("formulations", "ablation", "edges", "answers")
_SAGE = f"{_BASELINES}.graphsage:GraphSAGE"
METHODS = {
    method.name: method
    for method in (
        Method("raw", f"{_BASELINES}.raw:RawFeatures", "Raw features", "X"),
        Method("deepwalk", f"{_BASELINES}.deepwalk:DeepWalk", "DeepWalk", "A", ("paper", "edges")),
        Method(
            "label-propagation",
            f"{_BASELINES}.label_propagation:LabelPropagation",
            "Label propagation",
            "A, Y",
        ),
        Method(
            "deepwalk-features",
            f"{_BASELINES}.deepwalk_features:DeepWalkFeatures",
            "DeepWalk + features",
            "X, A",
        ),
        Method("graphsage-lstm", _SAGE, "GraphSAGE-LSTM", "X, A"),
        Method("graphsage-pool", _SAGE, "GraphSAGE-pool", "X, A"),
        Method("vgae", f"{_BASELINES}.vgae:VGAE", "VGAE", "X, A", ("paper", "answers")),
        Method("graphsage-mean", _SAGE, "GraphSAGE-mean", "X, A"),
        Method("graphsage-gcn", _SAGE, "GraphSAGE-GCN", "X, A"),
        Method("gae", f"{_BASELINES}.gae:GAE", "GAE", "X, A", ("paper", "answers")),
        Method("dgi", f"{_BASELINES}.dgi:DGI", "DGI", "X, A"),
        Method("gate", _GATE, "GATE", "X, A", ("paper", *_OURS)),
        Method("planetoid-t", f"{_BASELINES}.planetoid:PlanetoidT", "Planetoid-T", "X, A, Y"),
        Method("planetoid-i", f"{_BASELINES}.planetoid:PlanetoidI", "Planetoid-I", "X, A, Y"),
        Method("chebyshev", f"{_BASELINES}.chebyshev:Chebyshev", "Chebyshev", "X, A, Y"),
        Method("monet", f"{_BASELINES}.monet:MoNet", "MoNet", "X, A, Y"),
        Method("gcn", f"{_BASELINES}.gcn:GCN", "GCN", "X, A, Y"),
        Method("stogcn", f"{_BASELINES}.stogcn:StoGCN", "StoGCN", "X, A, Y"),
        Method("gat", f"{_BASELINES}.gat:GAT", "GAT", "X, A, Y"),
        Method(
            "gate-edges",
            f"{_BASELINES}.edges_alone:EdgesAlone",
            "GATE, edges alone",
            "A",
            ("edges",),
        ),
        Method("gate-paper", _GATE, "GATE, the text's form", "X, A", ("formulations",)),
        Method("gate-no-features", _GATE, "GATE/F, no feature loss", "X, A", ("ablation",)),
        Method("gate-no-structure", _GATE, "GATE/S, no structure loss", "X, A", ("ablation",)),
        Method("gate-uniform", _GATE, "GATE/A, α = 1/|N|", "X, A", ("ablation",)),
        Method("gate-ones", _GATE, "GATE/A, α = 1", "X, A", ("ablation",)),
    )
}


def find_method(name: str) -> Method:
    """A method of the list, or the user's own by `module:Class`."""
    if name in METHODS:
        return METHODS[name]
    module, _, thing = name.partition(":")
    if module and thing and not module.startswith("."):
        return Method(name, name, name, "?", ())
    raise InputError(
        f"unknown method {name!r}; use one of {', '.join(METHODS)}, or module:Class for your own"
    )
