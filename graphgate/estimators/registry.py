"""Methods by name: the estimators, those that other modules register, and a user's own."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from graphgate.errors import InputError

_FRACTIONS = ("attention_dropout", "dropout", "edge_drop", "feature_mask", "mask", "replace")


@dataclass(frozen=True)
class Method:
    """What is fitted to a graph.

    home : "module:name" of the class (or function) that takes the parameters, and random_state if
        it draws random numbers.
    title : its name in a table.
    proposes_links : whether it has `predict_links`.
    """

    name: str
    home: str
    title: str
    proposes_links: bool = field(default=False, kw_only=True)

    def make(self, params: Mapping[str, Any], random_state: int) -> Any:
        """A new, unfitted instance, without a progress bar of its own."""
        maker = self.maker()
        parameters = signature(maker).parameters
        for name, value in params.items():
            self._check(name, value, parameters[name].default if name in parameters else None)
        takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
        given: dict[str, Any] = {}
        if "random_state" in parameters or takes_any:
            given["random_state"] = random_state
        if self.name in METHODS and "progress" in parameters.keys() - params.keys():
            given["progress"] = False
        try:
            return maker(**params, **given)
        except TypeError as error:
            raise InputError(f"the method {self.name!r} cannot be created: {error}") from None

    def published_params(self, dataset: str, setting: str) -> Mapping[str, Any]:
        """Parameters chosen for a citation graph; none where the defaults are used."""
        return {}

    def maker(self) -> Any:
        """The class or function, imported from its home."""
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


# The methods whose models are saved, estimated and kept in stores; the first is the default.
EMBEDDERS = {
    method.name: method
    for method in (
        Method(
            "linear",
            "graphgate.estimators.linear_gate:LinearGATE",
            "LinearGATE",
            proposes_links=True,
        ),
        Method("gate", "graphgate.estimators.gate:GATE", "GATE"),
    )
}
METHODS = dict(EMBEDDERS)


def register(methods: Iterable[Method], *, embedders: bool = False) -> None:
    """Let `find_method` find these by their names; they replace others of the same names.

    embedders : whether they are of classes derived from `Embedder`, which every command can use.
    """
    for method in methods:
        METHODS[method.name] = method
        if embedders:
            EMBEDDERS[method.name] = method


def method_of(estimator: Any) -> Method:
    """The method that an estimator, or a class of them, is of."""
    own = estimator if isinstance(estimator, type) else type(estimator)
    kinds = [f"{kind.__module__}:{kind.__qualname__}" for kind in own.__mro__]
    for method in EMBEDDERS.values():
        if method.home in kinds:
            return method
    raise InputError(f"{own.__name__} is none of the methods {', '.join(EMBEDDERS)}")


def find_method(name: str) -> Method:
    """A registered method, or a user's own as `module:Class`."""
    if name in METHODS:
        return METHODS[name]
    module, _, thing = name.partition(":")
    if module and thing and not module.startswith("."):
        return Method(name, name, name)
    raise InputError(
        f"unknown method {name!r}; use one of {', '.join(METHODS)}, or module:Class for your own"
    )
