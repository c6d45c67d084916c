"""The script of deck.gl, from the pinned pydeck, safe to put into a page."""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

from graphgate.errors import InputError

PYDECK = "0.9.3"  # pinned in pyproject.toml too; its bundle has deck.gl and luma.gl
SHA256 = "63b908f47867492024126a39ef1adde632144364ad28287743b0c1d9b3137155"


def deckgl_script() -> str:
    """The bundle that pydeck installs for pages without a network, of the release tested here."""
    spec = find_spec("pydeck")
    folder = spec.submodule_search_locations if spec is not None else None
    path = Path(folder[0]) / "nbextension" / "static" / "index.js" if folder else None
    script = path.read_bytes() if path is not None and path.is_file() else b""
    if hashlib.sha256(script).hexdigest() != SHA256:
        raise InputError(
            f"the page needs deck.gl from pydeck {PYDECK}: pip install 'graphgate[viz]'"
        )
    return embeddable(script.decode())


def embeddable(script: str) -> str:
    """The script without what would end its element; browsers read it with these line endings."""
    script = re.sub(r"\r\n?", "\n", script)
    script = re.sub(r"\n//# sourceMappingURL=.*", "", script)
    return re.sub(r"</(script)|<!--", lambda m: m[0].replace("<", r"\x3C"), script, flags=re.I)
