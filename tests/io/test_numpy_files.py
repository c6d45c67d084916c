"""NumPy's files: plain arrays come back as they were, anything else is refused."""

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphgate import InputError
from graphgate.io.numpy_files import parse_npy, parse_npz, read_npz


def saved(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def with_header(text: bytes, body: bytes = b"", version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


KINDS = [
    *(arrays.boolean_dtypes(), arrays.integer_dtypes(endianness="?")),
    *(arrays.floating_dtypes(endianness="?"), arrays.unsigned_integer_dtypes()),
]


@given(arrays.arrays(st.one_of(KINDS), arrays.array_shapes(min_dims=0, max_dims=4, min_side=0)))
def test_what_numpy_wrote_is_read(array):
    for made in (array, np.asfortranarray(array)):
        read = parse_npy(saved(made))
        np.testing.assert_array_equal(read, array)
        assert read.dtype == array.dtype.newbyteorder("=")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_text_is_read(items):
    made = np.array(items)
    assert parse_npy(saved(made)).tolist() == made.tolist()
    other = made.astype(made.dtype.newbyteorder(">"))
    assert parse_npy(saved(other)).tolist() == made.tolist()


def test_the_second_version_and_python_2():
    text = b"{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n"
    body = np.array([3, 4]).tobytes()
    for version in (1, 2):
        assert parse_npy(with_header(text, body, version)).tolist() == [3, 4]
    python2 = text.replace(b"(2,)", b"(2L, 1L)").replace(b"'", b'"')
    with pytest.warns(UserWarning, match="created on Python 2"):
        assert parse_npy(with_header(python2, body)).tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a .npy file, or it is damaged: EOF"),
        (b"\x93NUMPY\x01\x00\x01\x00", "is damaged: EOF"),
        (with_header(b"{}" * 20, version=4), "version 4.0 is unknown"),
        (with_header(b"{}")[:-1] + b" " * 9, "it is damaged"),
        (with_header(b"{'descr': '<i8'")[:-9], "is damaged: EOF: reading array header"),
        (with_header(b" " * 70_000, version=2), "length .* is large"),
        (saved(np.array([{}], dtype=object)), "not contain a plain array"),
        (saved(np.zeros(2, dtype="i4,f8")), "not contain a plain array"),
        (saved(np.array(["2020"], dtype="M8[D]")), "not contain a plain array"),
        (
            saved(np.zeros(2, dtype="S0").astype("S1")).replace(b"|S1", b"|S0"),
            "not contain a plain array",
        ),
        (saved(np.zeros(2, "f8")).replace(b"<f8", b"<f7"), "not a valid dtype descriptor: '<f7'"),
        (saved(np.zeros(3))[:-1], r"is truncated: an array of shape \(3,\) of float64 needs 24"),
        (saved(np.zeros(3)).replace(b"(3,)", b"(9,)"), "is truncated"),
        (saved(np.zeros((1, 1))).replace(b"(1, 1)", b"(1L1L)"), "Cannot parse header"),
        (saved(np.zeros(1)).replace(b"(1,), }", b"(1 2,)}"), "Cannot parse header"),
        (
            with_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (%s)}\n" % (b"1," * 9)),
            "imp",
        ),
        (saved(np.array(["a"])).replace(b"a\0\0\0", b"\0\0\x11\0"), "text that is not Unicode"),
        (saved(np.array(["a"])).replace(b"a\0\0\0", b"\0\xd8\0\0"), "text that is not Unicode"),
        (saved(np.array(["a"])).replace(b"a\0\0\0", b"\xff\xdf\0\0"), "text that is not Unicode"),
    ],
)
def test_anything_else_is_refused(content, words):
    with pytest.raises(InputError, match=words):
        parse_npy(content)


def test_a_shape_without_values_claims_no_memory():
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0), }"
    assert parse_npy(with_header(text)).shape == (10**12, 0)
    with pytest.raises(InputError, match="the impossible shape"):
        parse_npy(with_header(text.replace(b"1000000000000", b"1" + b"0" * 19)))


def test_archives(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(3), y=np.array("text"))
    found = read_npz(tmp_path / "a.npz")
    assert found["x"].tolist() == [0, 1, 2]
    assert found["y"].item() == "text"


def zipped(method: int, content: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("a.npy", content)
    return file


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method):
    with pytest.raises(InputError, match=r"^f is compressed in an unknown way"):
        parse_npz(zipped(method, saved(np.arange(3))), 200, "f")


def test_archives_that_claim_too_much():
    bomb = zipped(zipfile.ZIP_DEFLATED, bytes(26_000_000))
    with pytest.raises(InputError, match=r"^f has 200 bytes but claims 26,000,000 bytes"):
        parse_npz(bomb, 200, "f")
    assert parse_npz(zipped(zipfile.ZIP_DEFLATED, saved(np.zeros(10**6))), 200, "f")["a"].size


def test_damaged_archives(tmp_path):
    good = zipped(zipfile.ZIP_DEFLATED, saved(np.arange(3))).getvalue()
    wrong = bytearray(good)
    wrong[60] ^= 255
    for content in (b"no zip", good[:-1], bytes(wrong)):
        with pytest.raises(InputError, match=r"^f is damaged or not an \.npz archive: "):
            parse_npz(io.BytesIO(content), len(content), "f")
    with pytest.raises(InputError, match=r"^f does not contain a plain array"):
        parse_npz(zipped(zipfile.ZIP_STORED, saved(np.array([{}]))), 200, "f")
