"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphgate.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which it replaces if the block ends well; else it is gone.

    The temporary file is in the same directory, because only there is the final step atomic, and
    is opened by the caller, so that it has the permissions of any other new file.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path | str, content: bytes) -> None:
    """Writes a file whole or not at all, and says so if it cannot."""
    try:
        with replacing(Path(path)) as temporary, temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a crash may leave the name without the content
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def write_json(path: Path | str, content: Any) -> None:
    """Writes JSON, whole or not at all; NaN and infinity are refused."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())
