"""The pickles of the Planetoid files, read without running anything that they name.

A pickle is a program: it may call whatever it can name. These files, written by Python 2, name
six things only. Each of the six is answered here by an inert stand-in of our own, so no NumPy or
SciPy code is reached from inside a pickle, the old module paths need not exist any more, and
whatever else a file names is refused. The instructions are limited to those the files use, too:
that shuts out persistent ids, extension codes and every later protocol.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError

# fmt: off
OPCODES = frozenset({
    "PROTO", "STOP", "MARK", "GLOBAL", "REDUCE", "NEWOBJ", "BUILD",
    "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET",
    "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "BINSTRING", "SHORT_BINSTRING",
    "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3",
    "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEMS",
})
# fmt: on
DTYPES = frozenset({"i4", "i8", "f4", "f8"})


class _Sealed(type):
    """Classes that a pickle cannot write to (its BUILD instruction may be aimed at a class)."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise pickle.UnpicklingError(f"it writes the attribute {name!r} of a class")


class _Token(metaclass=_Sealed):
    """Stands for `numpy.ndarray` and `list`, which the files pass on but never call."""

    __slots__ = ()

    def __init__(self) -> None:
        raise pickle.UnpicklingError("it calls a class that is only ever passed on")


class _Dtype(metaclass=_Sealed):
    """Stands for `numpy.dtype`: a code such as f4, then its byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: str, align: int, copy: int) -> None:
        if code not in DTYPES:
            raise pickle.UnpicklingError(f"it holds an array of the kind {code!r}")
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">"):
            raise pickle.UnpicklingError(f"it holds the byte order {state[1]!r}")
        self.order = state[1]


class _Array(metaclass=_Sealed):
    """Stands for `numpy.core.multiarray._reconstruct`: an array, empty until its state comes."""

    __slots__ = ("values",)

    def __init__(self, kind: type, shape: tuple[int, ...], code: str) -> None:
        self.values: np.ndarray | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Dtype) or not isinstance(raw, str):
            raise pickle.UnpicklingError("it holds an array that is not plain numbers")
        values = np.frombuffer(raw.encode("latin1"), dtype=dtype.order + dtype.code)
        values = values.reshape(shape, order="F" if fortran else "C")
        self.values = values.astype(dtype.code)


class _Matrix(metaclass=_Sealed):
    """Stands for `scipy.sparse.csr.csr_matrix`: its attributes, collected."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        raise pickle.UnpicklingError("it calls csr_matrix")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.parts = state


class _Adjacency(dict, metaclass=_Sealed):
    """Stands for `collections.defaultdict`: node -> list of neighbours."""

    __slots__ = ()

    def __init__(self, factory: type) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("it sets the state of a dictionary")


class _Unpickler(pickle.Unpickler):
    admitted: ClassVar[dict[tuple[str, str], type]] = {
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy", "ndarray"): _Token,
        ("numpy", "dtype"): _Dtype,
        ("scipy.sparse.csr", "csr_matrix"): _Matrix,
        ("collections", "defaultdict"): _Adjacency,
        ("__builtin__", "list"): _Token,
    }

    def find_class(self, module: str, name: str) -> type:
        try:
            return self.admitted[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def load_content(data: bytes, name: str) -> Any:
    """What the pickle holds: an array, a CSR matrix, or neighbours by node; `name` is for errors.

    Refuses, with an `InputError`, everything that the Planetoid files do not consist of.
    """
    try:
        for opcode, argument, _position in pickletools.genops(data):
            if opcode.name not in OPCODES:
                raise pickle.UnpicklingError(f"it uses the instruction {opcode.name}")
            if opcode.name == "LONG_BINPUT" and int(argument or 0) > len(
                data
            ):  # would reserve gigabytes
                raise pickle.UnpicklingError(f"it numbers a value {argument}")
        # fix_imports would rename `__builtin__`, and the table above names things as the files do.
        unpickler = _Unpickler(io.BytesIO(data), fix_imports=False, encoding="latin1")
        return _real(unpickler.load())
    except (MemoryError, RecursionError) as error:
        reason = type(error).__name__
    except Exception as error:  # a broken pickle raises almost anything; all of it is one refusal
        reason = str(error) or type(error).__name__
    raise InputError(
        f"{name} is not a Planetoid file or was cut short, and was not read: {reason}; "
        "fetch the original again"
    )


def _real(loaded: Any) -> Any:
    if isinstance(loaded, _Array) and loaded.values is not None:
        return loaded.values
    if isinstance(loaded, _Matrix):
        parts = loaded.parts
        arrays = tuple(_real(parts[key]) for key in ("data", "indices", "indptr"))
        matrix = sp.csr_matrix(arrays, shape=parts["_shape"])
        matrix.check_format(full_check=True)
        return matrix
    if isinstance(loaded, _Adjacency):
        for node, neighbours in loaded.items():
            if type(node) is not int or type(neighbours) is not list:
                raise pickle.UnpicklingError("its neighbour lists are not lists of whole numbers")
            if any(type(neighbour) is not int for neighbour in neighbours):
                raise pickle.UnpicklingError("its neighbour lists are not lists of whole numbers")
        return dict(loaded)
    raise pickle.UnpicklingError(f"it holds a {type(loaded).__name__.strip('_').lower()}")
