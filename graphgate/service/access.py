"""Which requests are accepted: the names of the service, its key, and limits of size and time."""

import hmac
import ipaddress
import os
import re
import stat
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphgate.errors import InputError, InputWarning

KEY_VARIABLE = "GRAPHGATE_KEY"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_SHORTEST = 16  # characters of a key
_LONGEST = 4096
_HOST = re.compile(rb"(?:([\w.-]+)|\[([0-9a-f:.]+)\])(?::[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True)
class RequestLimits:
    """What a request must be like.

    names : that a Host header may have.
    key : None if none is needed.
    header_bytes, body_bytes : size of the address with the headers, and of the body.
    seconds, add_seconds : until there is an answer, in general and from `/add`.
    waiting : number of requests at the same time.
    """

    names: frozenset[str]
    key: str | None = None
    header_bytes: int = 16 << 10
    body_bytes: int = 8 << 20
    seconds: float = 10.0
    add_seconds: float = 120.0
    waiting: int = 256


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_key(file: Path | None = None) -> str | None:
    """The key in a file, or in the environment variable GRAPHGATE_KEY; None without either.

    A file that others can read is used with a warning.
    """
    if file is None:
        key, where = os.environ.get(KEY_VARIABLE), f"the environment variable {KEY_VARIABLE}"
    else:
        key, where = _key_in(file), str(file)
    if key is None:
        return None
    if not _SHORTEST <= len(key) <= _LONGEST or not key.isascii() or not key.isprintable():
        raise InputError(
            f"{where} must hold a key of at least {_SHORTEST} printable ASCII characters, such as "
            "the output of `openssl rand -hex 32`"
        )
    return key


def _key_in(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            key = opened.read(_LONGEST + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"{file}: the key cannot be read: {reason}") from None
    if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH):
        sentence = f"{file} can be read by other users of this machine; run chmod 600 {file}"
        warnings.warn(InputWarning(sentence), stacklevel=3)
    return key


def same_key(key: str, header: bytes) -> bool:
    """Whether an Authorization header has the form "Bearer KEY", in constant time."""
    scheme, _, given = header.partition(b" ")
    return hmac.compare_digest(given.strip(), key.encode()) and scheme.lower() == b"bearer"


def allowed_names(host: str, more: Sequence[str] = ()) -> frozenset[str]:
    """The names that a Host header may have when the service listens on an address."""
    names = {name.lower().strip("[]") for name in more}
    if is_loopback(host):
        names |= {*LOOPBACK_NAMES, host}
    elif host not in ("0.0.0.0", "::", ""):
        names.add(host.lower())
    elif not names:
        raise InputError(
            f"{host or 'an empty host'} stands for all addresses of this machine; name those by "
            "which the service is reached"
        )
    return frozenset(names)


def host_name(header: bytes) -> str | None:
    """The name in a Host header, without port and brackets; None if it is not a name and a port."""
    parts = _HOST.fullmatch(header)
    return None if parts is None else (parts[1] or parts[2]).decode().lower()
