"""Content -> one HTML page that needs nothing from outside."""

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
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.estimators.fitted import EdgeValues
from graphgate.graph.graph import Graph
from graphgate.io.files import write_bytes
from graphgate.visualization.maps import COLORS, RAMP, UNLABELLED, colored_codes
from graphgate.visualization.page.node_columns import NodeColumn
from graphgate.visualization.page.page_content import PageContent, build_content

PYDECK = "0.9.3"  # pinned in pyproject.toml too; its bundle has deck.gl and luma.gl
SHA256 = "63b908f47867492024126a39ef1adde632144364ad28287743b0c1d9b3137155"
SCRIPTS = (
    *("graph_data.js", "colors.js", "sketch.js", "groups.js", "search.js", "drawing.js"),
    *("legend.js", "panel.js", "pointer.js", "link.js", "controls.js"),
)
MOST_DRAWN_EDGES = 60_000
STEPS = 65_535  # positions, values of edges and cosines are sent as integers up to this


def write_page(
    path: Path | str,
    graph: Graph,
    embedding: Any,
    edge_values: EdgeValues | sp.sparray | None = None,
    **options: Any,
) -> Path:
    """Write an interactive page of an embedded graph: one self-contained HTML file.

    Parameters
    ----------
    path : the file, which appears whole or not at all.
    graph, embedding, edge_values, options : as in
        `graphgate.visualization.page.page_content.build_content`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)], labels=["a", "a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     write_page(f"{folder}/page.html", graph, np.eye(3), title="Three nodes").name
    'page.html'
    """
    content = build_content(graph, embedding, edge_values, **options)
    write_bytes(path, make_page(content))
    return Path(path)


def make_page(content: PageContent) -> bytes:
    """The page, UTF-8."""
    style = _own_file("page.css")
    scripts = [*map(_own_file, SCRIPTS)]
    later = [deckgl_script(), _own_file("node_map.js")]  # take a second, so after the first picture
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
    # One pass: what is inserted is never searched for further placeholders.
    page = re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _own_file("page.html"))
    return page.encode(errors="xmlcharrefreplace")  # a title may hold a lone surrogate


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


def _own_file(name: str) -> str:
    return (files("graphgate.visualization.page") / name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(content: PageContent) -> str:
    """Arrays as base64, the rest as JSON; neither can end its element or start another."""
    n = len(content.points)
    index = "u2" if n <= 65_536 else "u4"
    blocks = {
        "points": _block(_steps(_framed(content.points)), "u2"),
        "edges": _block(content.edges, index),
        "edge-values": _block(_edge_value_steps(content.edge_values), "u2"),
        "nearest": _block(content.nearest, index),
        "cosine": _block(_steps((content.cosines + 1) / 2), "u2"),
    }
    columns = [_column(each) for each in content.columns]
    blocks |= {f"column-{at}": block for at, (_, block) in enumerate(columns) if block is not None}
    plain = content.ids == tuple(map(str, range(n)))
    about = {
        "title": content.title,
        "layout": content.layout,
        "nodes": n,
        "edges": len(content.edges),
        "nearest": content.nearest.shape[1],
        "ids": None if plain else content.ids,
        "columns": [description for description, _ in columns],
        "colors": COLORS,
        "noColor": UNLABELLED,
        "ramp": RAMP,
        "edgeTitle": content.edge_title,
        "mostDrawnEdges": MOST_DRAWN_EDGES,
    }
    return "\n".join(
        [f'<script type="application/json" id="about">{to_json(about)}</script>']
        + [
            f'<script type="text/plain" id="block-{name}" data-kind="{kind}">{text}</script>'
            for name, (kind, text) in blocks.items()
        ]
    )


def to_json(value: Any) -> str:
    """JSON in ASCII without characters that are special in HTML."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _column(each: NodeColumn) -> tuple[dict[str, Any], tuple[str, str] | None]:
    description: dict[str, Any] = {"name": each.name, "kind": each.kind}
    if each.kind == "text":
        return description | {"texts": each.values.tolist()}, None
    if each.kind in ("number", "date"):
        short = each.values.astype(np.float32)
        exact = np.array_equal(short.astype(np.float64), each.values, equal_nan=True)
        return description, _block(each.values, "f4" if exact else "f8")
    colored = colored_codes(each.values, len(each.names))
    return description | {"names": each.names, "colored": colored}, _block(each.values, "i2")


def _block(values: np.ndarray, kind: str) -> tuple[str, str]:
    little = np.ascontiguousarray(values, dtype=f"<{kind}")
    return kind, base64.b64encode(little.tobytes()).decode()


def _framed(points: np.ndarray) -> np.ndarray:
    """Points shifted and scaled, both axes alike, so that the larger extent is 0 to 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return (points - (low + high) / 2) / extent + 0.5


def _steps(fractions: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(fractions, 0, 1) * STEPS)


def _edge_value_steps(values: np.ndarray) -> np.ndarray:
    """Steps from 1; 0 where a node does not attend to the other."""
    return np.where(np.isfinite(values), np.maximum(_steps(np.nan_to_num(values)), 1), 0)
