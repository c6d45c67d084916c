"""Files: input checked and decompressed, output checked beforehand and replaced atomically."""

import io
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.limits import allowed, remedy
from graphgate.io.replacement import append, new_file, new_folder

StrPath = str | os.PathLike[str]
Schema = Mapping[str, type | tuple[type, ...]]
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def file_ending(path: StrPath) -> tuple[str, str]:
    """The ending that names the format and the one that names the compression, in lower case.

    >>> file_ending("Karate.GML.gz")
    ('.gml', '.gz')
    >>> file_ending("karate.gml")
    ('.gml', '')
    """
    name = Path(path).name.lower()
    compression = next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")
    return Path(name.removesuffix(compression)).suffix, compression


def first_line(error: Exception) -> str:
    """Libraries explain errors in many lines; messages here are one sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


# --- input ---------------------------------------------------------------------------------------


def check_file(path: StrPath) -> Path:
    """The path of a file to read; refuses a folder, a pipe, and a path that does not exist."""
    source = Path(path)
    try:
        mode = source.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{source} does not exist; check the path") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise InputError(
            f"{str(source)!r} cannot be read: {_reason(error)}; check the path"
        ) from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{source} is a folder; pass a file in it")
    if not stat.S_ISREG(mode):
        kind = "a named pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise InputError(f"{source} is {kind}; save its content to a file first")
    return source


@contextmanager
def reading(path: StrPath, hint: str = "") -> Iterator[None]:
    """Errors of the system in the block become one sentence about the file."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}{hint}") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or first_line(error)


@contextmanager
def decompressed(path: StrPath, limit: str = "values") -> Iterator[Any]:
    """The content of a file as a stream, decompressed according to its ending.

    limit : what bounds the size of the content, see `graphgate.io.limits`.
    """
    _, ending = file_ending(path)
    source = check_file(path)
    with (
        reading(path, f"; it may be truncated or not a {ending} file" if ending else ""),
        utf8_name(source) as name,
        pa.input_stream(name, compression=COMPRESSIONS.get(ending)) as stream,
    ):
        size = source.stat().st_size
        yield _Bounded(stream, str(path), limit, size) if ending else stream


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """The name of a file for libraries that take only UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        with path.open("rb") as file:
            yield f"/dev/fd/{file.fileno()}"
    else:
        yield str(path)


class _Bounded(io.RawIOBase):
    """A stream that ends with an error where a compressed file grows beyond its limit."""

    def __init__(self, stream: Any, what: str, limit: str, size: int) -> None:
        self._stream, self._what, self._limit, self._size = stream, what, limit, size
        self._count, self._most = 0, allowed(limit, size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._stream.readinto(buffer)
        self._count += count
        if self._count > self._most:
            raise InputError(
                f"{self._what} has {self._size:,} bytes, but expands to more than the "
                f"{self._most:,.0f} allowed for its size; {remedy(self._limit)}"
            )
        return count


def read_bytes(path: StrPath, limit: str = "values") -> bytes:
    """The decompressed content of a file, which must not be empty."""
    with decompressed(path, limit) as stream:
        content: bytes = stream.read()
    if not content.strip():
        raise InputError(f"{path} is empty; pass a file that contains a graph")
    return content


def read_text(path: StrPath) -> str:
    r"""The content of a UTF-8 text file, with "\n" as line ending."""
    try:
        text = read_bytes(path, "text").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text: byte {error.start:,} is 0x{error.object[error.start]:02x}; "
            "save it as UTF-8, or use the ending of its format"
        ) from None
    if "\0" in text:
        raise InputError(f"{path} is not text: it contains zero bytes; check its ending")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: StrPath, what: str) -> Any:
    """The content of a JSON file; `what` begins the message if it is not JSON."""
    with reading(path):
        content = check_file(path).read_bytes()
    try:
        return parse_json(content.decode())
    except (ValueError, RecursionError):
        raise InputError(f"{what}: it is not JSON") from None


def parse_json(text: str) -> Any:
    """JSON without NaN and infinity; anything else is a ValueError or a RecursionError."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def complete_lines(path: StrPath) -> list[bytes]:
    """The lines of a file, none if it does not exist; one without an end is left out."""
    with reading(path), suppress(FileNotFoundError):
        os.stat(path)
        return check_file(path).read_bytes().split(b"\n")[:-1]
    return []


def check_fields(body: Any, schema: Schema, what: str, where: str = "header") -> None:
    """Refuse a JSON object with a missing field, an unknown one, or one of the wrong type."""
    if not isinstance(body, dict):
        raise InputError(f"{what}: its {where} is not a JSON object")
    if missing := sorted(schema.keys() - body.keys()):
        raise InputError(f"{what}: its {where} lacks {missing[0]!r}")
    if extra := sorted(body.keys() - schema.keys()):
        raise InputError(f"{what}: its {where} has an unknown field {extra[0]!r}")
    for name, kinds in schema.items():
        value = body[name]
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        # bool is an int in Python, but not in a header.
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise InputError(f"{what}: {name!r} in its {where} has the wrong type")


# --- output --------------------------------------------------------------------------------------


def check_output_path(path: StrPath, endings: Sequence[str]) -> Path:
    """Refuses a path to which no file of these formats can be written."""
    target = Path(path)
    mode = _mode(target)
    if stat.S_ISDIR(mode):
        raise InputError(f"{target} is a folder; pass a file in it")
    if mode and not stat.S_ISREG(mode):
        raise InputError(f"{target} is a pipe or a device; pass the name of a file")
    if target.suffix.lower() not in endings:
        *first, last = endings
        named = f"{', '.join(first)} or {last}" if first else last
        raise InputError(f"{target} must end in {named}, which selects the format")
    _check_parent(target)
    return target


def check_new_folder(path: StrPath) -> Path:
    """Refuses a path at which no new folder can be created."""
    target = Path(path)
    if _mode(target) or target.is_symlink():
        raise InputError(f"{target} already exists; choose a new folder, or remove it first")
    _check_parent(target)
    return target


def check_folder(path: StrPath) -> Path:
    """Refuses a path at which there is no folder to write to, and none can be created."""
    target = Path(path)
    mode = _mode(target)
    if not mode:
        check_folder(target.parent)
    elif not stat.S_ISDIR(mode):
        raise InputError(f"{target} is not a folder; choose another name")
    elif not os.access(target, os.W_OK | os.X_OK):
        raise InputError(f"no permission to write to the folder {target}")
    return target


def make_folder(path: StrPath) -> Path:
    """Create a folder and its parents where they do not exist."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created: {error.strerror}") from None
    return folder


def cache_folder(name: str) -> Path:
    """The user's folder for what can be computed or downloaded again; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard says to ignore a relative path.
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~/.cache"))
    return root / "graphgate" / name


def _mode(target: Path) -> int:
    """The mode of what a path leads to, 0 if nothing; refuses a name that no file can have."""
    try:
        os.fsencode(target).decode()
        return os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
    except ValueError:  # a lone surrogate stands for a byte that is not UTF-8
        raise InputError(
            f"{target} cannot be written: its name is not UTF-8 text; choose another"
        ) from None


def _check_parent(target: Path) -> None:
    folder = Path(os.path.realpath(target)).parent  # where a link leads to
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{target} cannot be written: {target.parent} {problem}; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{target} cannot be written: no permission to write to {target.parent}")


@contextmanager
def replacing(path: StrPath) -> Iterator[Path]:
    """A temporary path that replaces `path` if the block succeeds, and is removed otherwise."""
    with _writing(path), new_file(Path(os.path.realpath(path))) as temporary:  # a link stays one
        yield temporary


@contextmanager
def complete_folder(path: StrPath) -> Iterator[Path]:
    """A temporary folder that gets its name if the block succeeds, and is removed otherwise."""
    with _writing(path), new_folder(Path(path)) as temporary:
        yield temporary


@contextmanager
def _writing(path: StrPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {_reason(error)}") from None


def write_bytes(path: StrPath, content: bytes) -> None:
    """Write a file completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: StrPath, content: Any) -> None:
    """Write JSON completely or not at all; NaN and infinity are refused."""
    write_bytes(path, json_text(content).encode(errors="backslashreplace"))


def append_json(path: StrPath, content: Any) -> None:
    """Append a line of JSON to a file that several processes may write to."""
    line = json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
    with _writing(path):
        append(Path(path), line.encode(errors="backslashreplace"))


def json_text(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
