"""Download one file, check it, and only then give it its name."""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from graphgate.errors import InputError
from graphgate.io.files import write_bytes

CHUNK = 1 << 16
LIMIT = 1 << 25  # four times the largest file we fetch; more cannot be a dataset


def download(
    url: str, target: Path, sha256: str, *, timeout: float, advance: Callable[[float], None]
) -> None:
    """Download `url` to `target`; `advance` receives the fraction of the file in each chunk."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} cannot be downloaded: use a URL that begins with https://")
    data = _received(url, timeout, advance)
    if (seen := hashlib.sha256(data).hexdigest()) != sha256:
        raise InputError(
            f"{url} is not the expected file: its SHA-256 is {seen[:12]}… instead of "
            f"{sha256[:12]}…; nothing was kept; try again, or use another URL"
        )
    write_bytes(target, data)


def _received(url: str, timeout: float, advance: Callable[[float], None]) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            announced = int(response.headers.get("Content-Length") or 0)
            data = bytearray()
            while chunk := response.read(CHUNK):
                data += chunk
                if len(data) > LIMIT:
                    raise InputError(
                        f"{url} is larger than {LIMIT:,} bytes, so it is not a dataset file"
                    )
                if announced:
                    advance(len(chunk) / announced)
    except urllib.error.HTTPError as error:
        with error:
            reason = f"the server responded {error.code} {error.reason}"
    except InputError:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = getattr(error, "reason", error)
        reason = str(cause) or type(cause).__name__
        if isinstance(cause, TimeoutError):
            reason = f"no answer within {timeout:g} seconds"
    else:
        if not announced:
            advance(1.0)
        if len(data) >= announced:
            return bytes(data)
        reason = f"received only {len(data):,} of {announced:,} bytes"
    raise InputError(
        f"{url} cannot be downloaded: {reason}; check the network and try again "
        "(files already downloaded are kept)"
    )
