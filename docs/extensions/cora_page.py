"""Writes the interactive page of Cora that the first page of the site shows: `cora.html`."""

from pathlib import Path

from sphinx.application import Sphinx

from graphgate import LinearGATE, load_dataset, write_page
from graphgate.datasets.citation import name_classes


def _write(app: Sphinx, error: Exception | None) -> None:
    """Unless it is there already: embedding and drawing take half a minute."""
    path = Path(app.outdir) / "cora.html"
    if error is not None or app.builder.format != "html" or path.exists():
        return
    graph = name_classes("cora", load_dataset("cora").graph)
    gate = LinearGATE(random_state=0, progress=False).fit(graph)
    edge_scores = gate.encode(graph).edge_values
    write_page(path, graph, gate.embedding_, edge_scores, title="Cora")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
