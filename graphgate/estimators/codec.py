"""Trees of frozen dataclasses <-> plain JSON, and tensors by dotted name.

The fields of a class say all that is checked when a tree is rebuilt: their types and, with
`Annotated`, more than that.

    Annotated[float, (0, 1)]               a number of this interval, bounds included
    Annotated[Tensor, "F r"]               a matrix in the precision of the model
    Annotated[np.ndarray, "F", np.int64]   an array of this type
    Annotated[np.ndarray, "N", object]     node ids, as one column of Arrow

A letter is a size, at least 1: a capital one is the same in the whole tree, a small one in its
record. What is rebuilt is no larger than the file, and numbers are finite.
"""

import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from math import inf
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from graphgate.errors import InputError
from graphgate.io.files import check_fields

INFINITY = "infinity"  # for which JSON has no number
_APART = object()  # in the place of an array, which is among the tensors


def take_apart(tree: Any) -> tuple[Any, dict[str, Tensor]]:
    """Plain JSON without the arrays of a tree, and these as tensors."""
    tensors: dict[str, Tensor] = {}
    return _plain(tree, "", tensors), tensors


def _plain(part: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    if is_dataclass(part):
        part = {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, Mapping):
        bodies = {key: _plain(value, _inside(name, key), tensors) for key, value in part.items()}
        return {key: body for key, body in bodies.items() if body is not _APART}
    if isinstance(part, (list, tuple)):
        return [_plain(value, _inside(name, at), tensors) for at, value in enumerate(part)]
    if not isinstance(part, (np.ndarray, Tensor)):
        return INFINITY if isinstance(part, float) and part == inf else part
    if isinstance(part, Tensor):
        tensors[name] = part
    elif part.dtype.kind in "fi":
        tensors[name] = torch.from_numpy(part)
    else:
        column = pa.array([_as_bytes(node) for node in part.tolist()], pa.large_binary())
        _, ends, content = column.buffers()
        tensors[f"{name}.ends"] = torch.frombuffer(bytearray(ends), dtype=torch.int64)
        tensors[name] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    return _APART


@dataclass(frozen=True)
class Rebuilding:
    """What is left of a file while its tree is rebuilt.

    tensors : those that no record has taken yet.
    dtype : the precision of the model.
    what : begins every message.
    sizes : of capital letters.
    infinite : whether numbers may be `INFINITY`.
    """

    tensors: dict[str, Tensor]
    dtype: torch.dtype
    what: str
    sizes: dict[str, int] = field(default_factory=dict)
    infinite: bool = False

    def tree(self, kind: Any, body: Any, name: str) -> Any:
        """The tree of this type; a tensor that it does not need is refused."""
        tree = self.part(kind, body, name, {})
        if self.tensors:
            self._refuse(f"its tensors do not match its header ({min(self.tensors)!r})")
        return tree

    def part(self, kind: Any, body: Any, name: str, sizes: dict[str, int]) -> Any:
        """A value of a type, which is a class or one of those that the module describes."""
        origin, inner = get_origin(kind) or kind, get_args(kind)
        if origin is Any or (origin is Literal and body in inner):
            return body
        if origin in (Union, types.UnionType):
            return self._one_of(inner, body, name, sizes)
        if origin is Annotated and body is _APART:
            return self._array(name, *inner[1:], sizes=sizes)
        if origin is Annotated:
            value = self.part(inner[0], body, name, sizes)
            if not all(low <= value <= high for low, high in inner[1:]):
                self._refuse(f"{name!r} in its header is out of range")
            return value
        if isinstance(body, dict) and origin in (dict, Mapping):
            if inner[1] is Tensor:
                names = [other for other in self.tensors if other.startswith(f"{name}.")]
                return {other[len(name) + 1 :]: self._tensor(other) for other in names}
            return {k: self.part(inner[1], v, _inside(name, k), sizes) for k, v in body.items()}
        if isinstance(body, dict) and is_dataclass(origin):
            return self._record(kind, body, name)
        if isinstance(body, list) and isinstance(origin, type) and issubclass(origin, tuple):
            # One type for all items, types of a tuple, or those of the fields of a named one.
            kinds = [inner[0]] * len(body) if inner[-1:] == (...,) else inner
            kinds = kinds if inner else list(_hints(kind).values())
            if len(kinds) == len(body):
                pairs = enumerate(zip(kinds, body, strict=True))
                parts = (self.part(k, v, _inside(name, at), {}) for at, (k, v) in pairs)
                return getattr(kind, "_make", tuple)(parts)
        if kind is float and type(body) in (int, float):
            # JSON has integers that are larger than any float, and 1e999 is infinite.
            if abs(body) <= sys.float_info.max:
                return float(body)
        elif kind is float and body == INFINITY and self.infinite:
            return inf
        elif type(body) is kind and kind in (bool, int, str):
            return body
        self._refuse(f"{name!r} in its header has the wrong type")

    def _record(self, kind: type, body: dict[str, Any], name: str) -> Any:
        hints = _hints(kind)
        parts = self.fields({part.name: hints[part.name] for part in fields(kind)}, body, name)
        try:
            return kind(**parts)
        except InputError as error:
            raise InputError(f"{self.what}: {error}") from None

    def fields(self, hints: Mapping[str, Any], body: Any, name: str) -> dict[str, Any]:
        """The values of fields of these types, of which `body` has all but arrays."""
        needed = [key for key in hints if key in body or _inside(name, key) not in self.tensors]
        check_fields(body, dict.fromkeys(needed, (object, bool)), self.what, name)
        sizes: dict[str, int] = {}
        return {
            key: self.part(hint, body.get(key, _APART), _inside(name, key), sizes)
            for key, hint in hints.items()
        }

    def _one_of(self, kinds: Sequence[Any], body: Any, name: str, sizes: dict[str, int]) -> Any:
        if body is None and types.NoneType in kinds:
            return None
        kinds = [kind for kind in kinds if kind is not types.NoneType]
        for kind in kinds[:-1]:
            try:
                return self.part(kind, body, name, sizes)
            except InputError:
                continue
        return self.part(kinds[-1], body, name, sizes)

    # --- arrays ----------------------------------------------------------------------------------

    def _tensor(self, name: str, dtype: torch.dtype | None = None) -> Tensor:
        if name not in self.tensors:
            self._refuse(f"its tensors do not match its header ({name!r})")
        tensor, dtype = self.tensors.pop(name), dtype or self.dtype
        if tensor.dtype != dtype:
            self._refuse(
                f"its tensor {name!r} is {tuple(tensor.shape)} of {tensor.dtype}, not of {dtype}"
            )
        return tensor

    def _array(self, name: str, shape: str, dtype: Any = None, *, sizes: dict[str, int]) -> Any:
        array: Any
        if dtype is object:
            array = self._ids(name)
        elif dtype is None:
            array = self._tensor(name)
        else:
            array = self._tensor(name, torch.from_numpy(np.empty(0, dtype)).dtype).numpy()
        letters = shape.split()
        fits = array.ndim == len(letters) and all(array.shape)
        for letter, size in zip(letters, array.shape, strict=False):
            known = self.sizes if letter.isupper() else sizes
            fits = fits and known.setdefault(letter, size) == size
        if not fits:
            self._refuse(
                f"its tensor {name!r} is {tuple(array.shape)}, not ({shape}) with "
                f"{self.sizes | sizes}"
            )
        return array

    def _ids(self, name: str) -> np.ndarray:
        """Distinct ids, integers or as `_as_bytes` wrote them."""
        if f"{name}.ends" not in self.tensors:
            ids: np.ndarray = self._tensor(name, torch.int64).numpy()
            n_ids = len(np.unique(ids))
        else:
            content = self._tensor(name, torch.uint8).numpy()
            ends = self._tensor(f"{name}.ends", torch.int64).numpy()
            try:
                if content.ndim != 1 or ends.ndim != 1 or ends[-1] != len(content):
                    raise ValueError("offsets and content are those of different columns")
                buffers = [None, pa.py_buffer(ends), pa.py_buffer(content)]
                column = pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, buffers)
                column.validate(full=True)
                ids = np.empty(len(column), dtype=object)
                ids[:] = [_from_bytes(node) for node in column.to_pylist()]
            except (ValueError, KeyError, IndexError):
                self._refuse("its node ids are damaged")
            n_ids = len(set(ids.tolist()))
        if n_ids != ids.size:
            self._refuse("its node ids are damaged: an id occurs twice")
        return ids

    def _refuse(self, reason: str) -> NoReturn:
        raise InputError(f"{self.what}: {reason}")


def _inside(name: str, key: str | int) -> str:
    return f"{name}.{key}" if name else str(key)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _as_bytes(node: Any) -> bytes:
    """An id as `plain_ids` gives it: its kind, and its text."""
    if isinstance(node, tuple):
        return b"o" + node[0].encode("utf-8", "surrogatepass")
    kind = b"s" if isinstance(node, str) else b"i"
    text = node if isinstance(node, str) else str(int(node))
    return kind + text.encode("utf-8", "surrogatepass")


def _from_bytes(content: bytes) -> Any:
    text = content[1:].decode("utf-8", "surrogatepass")
    kinds: dict[bytes, Any] = {b"s": str, b"i": int, b"o": lambda text: (text,)}
    return kinds[content[:1]](text)
