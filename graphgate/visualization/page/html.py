"""Content -> one HTML page that holds everything it needs and asks for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.io.files import write_bytes
from graphgate.visualization.node_map import COLORS, UNLABELLED
from graphgate.visualization.page.columns import Column
from graphgate.visualization.page.content import PageContent

SCRIPTS = ("data.js", "sketch.js", "panel.js")
MOST_DRAWN_EDGES = 200_000
STEPS = 65_535  # positions, attention and cosines are sent as whole numbers up to this


def write_page(path: Path | str, content: PageContent) -> int:
    """Writes the page to a file, whole or not at all; returns its size in bytes."""
    page = make_page(content)
    write_bytes(path, page)
    return len(page)


def make_page(content: PageContent) -> bytes:
    """The page, UTF-8."""
    style = _own_file("explorer.css")
    scripts = [*map(_own_file, SCRIPTS)]
    later = [_library(), _own_file("map.js")]  # a second of work, so after the first picture
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_digest(style)}; script-src {' '.join(map(_digest, [*later, *scripts]))}"
    )
    parts = {
        "policy": policy,
        "title": html.escape(content.title),
        "style": f"<style>{style}</style>",
        "data": _data(content),
        "scripts": "\n".join(
            [f"<script>{script}</script>" for script in scripts]
            + [f'<script type="text/plain" class="later">{script}</script>' for script in later]
        ),
    }
    # One pass: what is put in is never looked through for more places.
    page = re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _own_file("explorer.html"))
    return page.encode(errors="xmlcharrefreplace")  # half a pair in the title


def _own_file(name: str) -> str:
    return (files("graphgate.visualization.page") / name).read_text("utf-8")


def _library() -> str:
    """deck.gl, as the installed pydeck carries it for its own pages without a network."""
    spec = find_spec("pydeck")
    folder = spec.submodule_search_locations if spec is not None else None
    if not folder:
        raise InputError("the page is drawn with deck.gl: pip install 'graphgate[viz]'")
    path = Path(folder[0]) / "nbextension" / "static" / "index.js"
    try:
        script = path.read_bytes().decode()
    except OSError:
        raise InputError(f"{path.name} of pydeck is missing; install pydeck again") from None
    script = re.sub(r"\r\n?", "\n", script)  # as browsers read it, else the digest differs
    script = re.sub(r"\n//# sourceMappingURL=.*", "", script)
    return re.sub(r"</(script)|<!--", lambda m: m[0].replace("<", r"\x3C"), script, flags=re.I)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(content: PageContent) -> str:
    """Bulk as blocks of base64, the rest as JSON; neither can end its element or start another."""
    n = len(content.points)
    index = "u2" if n <= 65_536 else "u4"
    blocks = {
        "points": _block(_whole(_framed(content.points)), "u2"),
        "edges": _block(content.edges, index),
        "attention": _block(_attention_steps(content.attention), "u2"),
        "nearest": _block(content.nearest, index),
        "cosine": _block(_whole((content.cosine + 1) / 2), "u2"),
    }
    columns = []
    for at, each in enumerate(content.columns):
        description, block = _column(each)
        columns.append(description)
        if block is not None:
            blocks[f"column-{at}"] = block
    plain = content.ids == tuple(map(str, range(n)))
    about = {
        "title": content.title,
        "layout": content.layout,
        "nodes": n,
        "edges": len(content.edges),
        "nearest": content.nearest.shape[1],
        "ids": None if plain else content.ids,
        "columns": columns,
        "colors": COLORS,
        "noColor": UNLABELLED,
        "mostDrawnEdges": MOST_DRAWN_EDGES,
    }
    lines = [f'<script type="application/json" id="about">{to_json(about)}</script>']
    for name, (kind, text) in blocks.items():
        lines.append(
            f'<script type="text/plain" id="block-{name}" data-kind="{kind}">{text}</script>'
        )
    return "\n".join(lines)


def to_json(value: Any) -> str:
    """JSON in ASCII without a character that means something to an HTML parser."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _column(each: Column) -> tuple[dict[str, Any], tuple[str, str] | None]:
    description: dict[str, Any] = {"name": each.name, "kind": each.kind}
    if each.kind == "text":
        return description | {"texts": each.values.tolist()}, None
    if each.kind == "number":
        return description, _block(each.values, "f4")
    return description | {"names": each.names}, _block(each.values, "i2")


def _block(values: np.ndarray, kind: str) -> tuple[str, str]:
    little = np.ascontiguousarray(values, dtype=f"<{kind}")
    return kind, base64.b64encode(little.tobytes()).decode()


def _framed(points: np.ndarray) -> np.ndarray:
    """Points moved and scaled, both axes alike, so that the larger extent is 0 … 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return (points - (low + high) / 2) / extent + 0.5


def _whole(shares: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(shares, 0, 1) * STEPS)


def _attention_steps(values: np.ndarray) -> np.ndarray:
    """Steps from 1; 0 says that a node does not attend over the other."""
    return np.where(np.isfinite(values), np.maximum(_whole(np.nan_to_num(values)), 1), 0)
