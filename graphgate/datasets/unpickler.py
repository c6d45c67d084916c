"""Read the pickles of the Planetoid files without running anything that they name.

A pickle is a program that may call anything it can name. These files, written by Python 2, name
only six things. Each of the six is replaced by an inert stand-in, so no NumPy or SciPy code is
reached from inside a pickle, the old module paths need not exist any more, and any other name is
refused. The instructions are limited to those the files use as well, which rules out persistent
ids, extension codes and every later protocol.
"""

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
    """Classes that a pickle cannot modify (its BUILD instruction may target a class)."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise pickle.UnpicklingError(f"it writes the attribute {name!r} of a class")


class _Token(metaclass=_Sealed):
    """Replaces `numpy.ndarray` and `list`, which the files pass as arguments but never call."""

    __slots__ = ()

    def __init__(self) -> None:
        raise pickle.UnpicklingError("it calls a class that is only ever an argument")


class _Dtype(metaclass=_Sealed):
    """Replaces `numpy.dtype`: a code such as f4, then its byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: str, align: int, copy: int) -> None:
        if code not in DTYPES:
            raise pickle.UnpicklingError(f"it contains an array of dtype {code!r}")
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">"):
            raise pickle.UnpicklingError(f"it contains the byte order {state[1]!r}")
        self.order = state[1]


class _Array(metaclass=_Sealed):
    """Replaces `numpy.core.multiarray._reconstruct`: an array, empty until its state is set."""

    __slots__ = ("values",)

    def __init__(self, kind: type, shape: tuple[int, ...], code: str) -> None:
        self.values: np.ndarray | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Dtype) or not isinstance(raw, str):
            raise pickle.UnpicklingError("it contains an array that is not numeric")
        values = np.frombuffer(raw.encode("latin1"), dtype=dtype.order + dtype.code)
        values = values.reshape(shape, order="F" if fortran else "C")
        self.values = values.astype(dtype.code)


class _Matrix(metaclass=_Sealed):
    """Replaces `scipy.sparse.csr.csr_matrix`: collects its attributes."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        raise pickle.UnpicklingError("it calls csr_matrix")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.parts = state


class _Adjacency(dict, metaclass=_Sealed):
    """Replaces `collections.defaultdict`: node -> list of neighbors."""

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
    """The content of a pickle: an array, a CSR matrix, or neighbors by node; `name` is for errors.

    Anything that the Planetoid files do not contain raises an `InputError`.
    """
    try:
        for opcode, argument, _position in pickletools.genops(data):
            if opcode.name not in OPCODES:
                raise pickle.UnpicklingError(f"it uses the instruction {opcode.name}")
            # A large number would reserve gigabytes.
            if opcode.name == "LONG_BINPUT" and int(argument or 0) > len(data):
                raise pickle.UnpicklingError(f"it numbers a value {argument}")
        # fix_imports would rename `__builtin__`, but the table above uses the names in the files.
        unpickler = _Unpickler(io.BytesIO(data), fix_imports=False, encoding="latin1")
        return _real(unpickler.load())
    except Exception as error:  # a damaged pickle may raise almost anything
        reason = str(error) or type(error).__name__
    raise InputError(
        f"{name} is not a Planetoid file or was truncated, and was not read: {reason}; "
        "download the original again"
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
        for node, neighbors in loaded.items():
            lists = type(node) is int and type(neighbors) is list
            if not lists or any(type(neighbor) is not int for neighbor in neighbors):
                raise pickle.UnpicklingError("its neighbor lists are not lists of integers")
        return dict(loaded)
    raise pickle.UnpicklingError(f"it contains a {type(loaded).__name__.strip('_').lower()}")
