"""The bytes of a file, decompressed by its ending; each refusal is one sentence."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from pathlib import Path

import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.csv_file import COMPRESSIONS
from graphgate.io.table import first_line


def file_ending(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The ending that names the format and the one that names the compression, in small letters.

    >>> file_ending("Karate.GML.gz")
    ('.gml', '.gz')
    >>> file_ending("karate.gml")
    ('.gml', '')
    """
    name = Path(path).name.lower()
    compression = next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")
    return Path(name.removesuffix(compression)).suffix, compression


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All that a file holds, decompressed; never an empty result."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory; name a file in it")
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    _, compression = file_ending(path)
    try:
        content = _decompressed(packed, compression)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            f"{path} is cut off or not a {compression} file: {first_line(error)}; get it anew"
        ) from None
    if not content.strip():
        raise InputError(f"{path} is empty; name a file that holds a graph")
    return content


def read_text(path: str | os.PathLike[str]) -> str:
    """All that a text file holds, in UTF-8, with line ends as Python has them."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"{path} is not text in UTF-8: byte {error.start:,} is 0x{byte:02x}; "
            "save it as UTF-8, or give it the ending of its format"
        ) from None
    if "\0" in text:
        raise InputError(f"{path} is not text: it holds zero bytes; give the ending of its format")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decompressed(packed: bytes, compression: str) -> bytes:
    if compression == ".gz":
        return gzip.decompress(packed)
    if compression == ".bz2":
        return bz2.decompress(packed)
    if compression == ".xz":
        return lzma.decompress(packed)
    if compression == ".zst":
        stream: bytes = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
        return stream
    return packed
