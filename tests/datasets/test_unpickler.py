"""Planetoid's pickles, and those that must not get through."""

import copyreg
import pickle
import struct
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from old_pickles import old_pickle

from graphgate.datasets.unpickler import load_content
from graphgate.errors import InputError


@pytest.mark.parametrize("kind", ["i4", "i8", "f4", "f8", ">f4", ">i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back(kind, order):
    array = np.arange(12).reshape(3, 4).astype(kind, order=order)
    back = load_content(old_pickle(array), "file")
    np.testing.assert_array_equal(back, array)
    assert back.dtype.isnative


def test_a_sparse_matrix_comes_back():
    matrix = sp.random(5, 6, 0.4, format="csr", dtype=np.float32, random_state=0)
    back = load_content(old_pickle(matrix), "file")
    assert type(back) is sp.csr_matrix
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())


def test_neighbor_lists_come_back():
    neighbors = defaultdict(list, {0: [1, 2], 1: [], 2: [0]})
    assert load_content(old_pickle(neighbors), "file") == {0: [1, 2], 1: [], 2: [0]}


def _call(module: str, name: str, *arguments: bytes) -> bytes:
    """A reduce with instructions that the files themselves use."""
    packed = b"".join(b"U" + bytes([len(a)]) + a for a in arguments)
    return f"c{module}\n{name}\n".encode() + b"(" + packed + b"tR"


HEAD = b"\x80\x02"
ARRAY = old_pickle(np.arange(3, dtype=np.int32))
BEYOND = sp.csr_matrix(np.eye(2, dtype="f4"))
BEYOND.indices[1] = 7
CSR = b"cscipy.sparse.csr\ncsr_matrix\n"
DICT = b"ccollections\ndefaultdict\n"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("__builtin__", "eval"),
        ("__builtin__", "getattr"),
        ("builtins", "list"),
        ("numpy", "load"),
        ("numpy", "fromfile"),
        ("numpy", "ndarray.tofile"),
        ("numpy.lib.npyio", "load"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy.core.multiarray", "scalar"),
        ("numpy.testing._private.utils", "runstring"),
        ("scipy.sparse", "load_npz"),
        ("collections", "namedtuple"),
        ("copyreg", "_reconstructor"),
        ("copy_reg", "_reconstructor"),
        ("copyreg", "add_extension"),
        ("_codecs", "encode"),
        ("functools", "partial"),
        ("pickle", "loads"),
    ],
)
def test_every_other_name_is_refused(module, name):
    direct = HEAD + _call(module, name, b"x") + b"."
    with pytest.raises(InputError, match=rf"^FILE is not .*asks for {module}\.{name}; download"):
        load_content(direct, "FILE")
    nested = HEAD + RECONSTRUCT + b"(" + _call(module, name, b"x") + b"K\x00\x85U\x01btR."
    with pytest.raises(InputError, match=rf"{module}\.{name}"):
        load_content(nested, "FILE")
    # The stolen callable as the factory of a dictionary, called by the first missing key.
    factory = HEAD + DICT + f"c{module}\n{name}\n".encode() + b"\x85R."
    with pytest.raises(InputError, match=rf"{module}\.{name}"):
        load_content(factory, "FILE")


def test_nothing_runs(tmp_path):
    trace = tmp_path / "trace"
    command = f"touch {trace}".encode()
    with pytest.raises(InputError, match=r"os\.system"):
        load_content(HEAD + _call("os", "system", command) + b".", "FILE")

    class Bomb:
        def __reduce__(self):
            return exec, (f"open({str(trace)!r}, 'w')",)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for value in (Bomb(), [Bomb()], {1: Bomb()}, np.array([Bomb()], dtype=object)):
            with pytest.raises(InputError):
                load_content(pickle.dumps(value, protocol), "FILE")
    assert not trace.exists()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        # BUILD with slot state writes attributes, and may be aimed at a class.
        (HEAD + CSR + b"N}(U\x03fooK\x01u\x86b.", "__setstate__"),
        (HEAD + b"cnumpy\ndtype\nN}(U\x0c__setstate__K\x01u\x86b.", "__setstate__"),
        (HEAD + RECONSTRUCT + b"N}(U\x08__init__K\x01u\x86b.", "__setstate__"),
        (HEAD + b"cnumpy\nndarray\nN}(U\x03fooK\x01u\x86b.", "writes the attribute 'foo'"),
        (HEAD + b"c__builtin__\nlist\nN}(U\x03fooK\x01u\x86b.", "writes the attribute 'foo'"),
        (HEAD + DICT + b"c__builtin__\nlist\n\x85RN}(U\x03fooK\x01u\x86b.", "sets the state"),
        # A matrix whose attributes are missing, of the wrong kind, or itself.
        (HEAD + CSR + b")\x81.", "."),
        (HEAD + CSR + b")\x81}b.", "'data'"),
        (HEAD + CSR + b")\x81N}(U\x04dataK\x01u\x86b.", "."),
        (HEAD + CSR + b")\x81q\x00}(U\x04datah\x00U\x07indicesh\x00U\x06indptrh\x00ub.", "."),
        # A matrix whose entries are not in its columns.
        (old_pickle(BEYOND), "must be < 2"),
        # Classes that are only ever an argument.
        (HEAD + CSR + b")R.", "calls csr_matrix"),
        (HEAD + b"c__builtin__\nlist\n)R.", "only ever an argument"),
        (HEAD + b"cnumpy\nndarray\nK\x05\x85R.", "."),
        # Arrays that hold objects, or are announced larger than they are.
        (HEAD + b"cnumpy\ndtype\n(U\x02O8K\x00K\x01tR.", "of dtype 'O8'"),
        (HEAD + b"cnumpy\ndtype\n(U\x02V8K\x00K\x01tR.", "of dtype 'V8'"),
        (ARRAY.replace(b"K\x03\x85", b"K\x09\x85"), "reshape"),
        (ARRAY.replace(b"U\x01<", b"U\x01|"), "byte order"),
        (ARRAY[: ARRAY.index(b"\x89U\x0c") + 1] + b"]tb.", "an array that is not numeric"),
        # Values that no Planetoid file is.
        (HEAD + b"N.", "contains a nonetype"),
        (HEAD + b"].", "contains a list"),
        (HEAD + b"K\x05.", "contains a int"),
        (HEAD + DICT + b"c__builtin__\nlist\n\x85R(K\x01U\x01xu.", "lists of integers"),
        (HEAD + DICT + b"c__builtin__\nlist\n\x85R(K\x01](U\x01xeu.", "lists of integers"),
        (HEAD + DICT + b"c__builtin__\nlist\n\x85R(U\x01a]u.", "lists of integers"),
        # Instructions that the files do not use.
        (b"cos\nsystem\n(S'true'\ntR.", "instruction STRING"),
        (b"(S'true'\nios\nsystem\n.", "instruction STRING"),
        (HEAD + b"(U\x04trueios\nsystem\n.", "instruction INST"),
        (HEAD + b"(cos\nsystem\nU\x04trueo.", "instruction OBJ"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "instruction SHORT_BINUNICODE"),
        (HEAD + b"U\x02osU\x06system\x93.", "instruction STACK_GLOBAL"),
        (HEAD + b"Pid\n.", "instruction PERSID"),
        (HEAD + b"U\x02idQ.", "instruction BINPERSID"),
        (HEAD + b"Nr" + struct.pack("<I", 2**31) + b".", "numbers a value"),
        # Broken in other ways.
        (b"", "."),
        (b".", "."),
        (b"PK\x03\x04", "."),
        (HEAD + b"h\x07.", "."),
        (ARRAY[:-1], "."),
        (ARRAY[: len(ARRAY) // 2], "."),
    ],
)
def test_tricks_are_refused(data, reason):
    with pytest.raises(InputError, match=rf"^FILE is not a Planetoid file .*{reason}"):
        load_content(data, "FILE")
    # And nothing stays behind for the next file.
    np.testing.assert_array_equal(load_content(ARRAY, "FILE"), np.arange(3))


def test_registered_extensions_do_not_help():
    import os

    copyreg.add_extension("os", "system", 240)
    copyreg._extension_cache[240] = os.system
    try:
        with pytest.raises(InputError, match="instruction EXT1"):
            load_content(HEAD + b"\x82\xf0U\x04true\x85R.", "FILE")
    finally:
        copyreg.remove_extension("os", "system", 240)
        copyreg._extension_cache.pop(240, None)


@given(st.data())
def test_a_damaged_pickle_is_content_or_one_error(data):
    original = data.draw(st.sampled_from([ARRAY, old_pickle(sp.csr_matrix(np.eye(2, dtype="f4")))]))
    at = data.draw(st.integers(0, len(original) - 1))
    damaged = bytearray(original)
    damaged[at] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(1, len(original)))]
    try:
        content = load_content(bytes(damaged), "FILE")
    except InputError:
        return
    assert isinstance(content, (np.ndarray, sp.csr_matrix, dict))
