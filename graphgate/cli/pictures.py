"""`graphgate figures` and `explore`: an embedded graph to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphgate.cli.given import embedded_graph
from graphgate.cli.options import Dataset, EdgesIfAny, Model, Nodes
from graphgate.cli.program import PICTURES, app
from graphgate.cli.reading import Reading, reads_graph
from graphgate.errors import InputError


@app.command(
    rich_help_panel=PICTURES, epilog="Example: graphgate figures --dataset cora --out figures"
)
@reads_graph
def figures(
    reading: Reading,
    edges: EdgesIfAny = None,
    nodes: Nodes = None,
    dataset: Dataset = "cora",
    model: Model = None,
    results: Annotated[Path, typer.Option(help="Folder in which `reproduce` kept its runs.")] = (
        Path("results")
    ),
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    formats: Annotated[str, typer.Option(help="png, svg, pdf; separated by commas.")] = "png,svg",
) -> None:
    """Draw the paper's figures: ablations, maps of nodes and edges, and the losses.

    The bar charts come from stored runs; the maps from a saved model, or from one that is trained
    on the spot. Beside them stands what attention tells of classes, in numbers.
    """
    from graphgate.tasks.edge_attention import class_attention, edge_attention
    from graphgate.visualization.gallery import check_formats, write_figures

    check_formats(formats.split(","))  # before any training
    name, graph, gate = embedded_graph(dataset, model, edges, nodes, reading)
    encoded = gate.encode(graph)
    history = getattr(gate, "history_", None)  # a model from a file has none
    for path in write_figures(
        out,
        graph,
        encoded.embedding,
        encoded.attention,
        name=name,
        history=None if history is None else history.series,
        results=results,
        formats=formats.split(","),
    ):
        typer.echo(f"wrote {path}")
    if graph.labels is None:
        return
    found = class_attention(edge_attention(encoded.attention.average), graph.labels)
    if found is not None:
        typer.echo(
            f"edges within a class have {found.raw_ratio:.3f} times the attention of the others; "
            f"{found.corrected_ratio:.3f} times corrected for degree (at most e = 2.718)"
        )


@app.command(
    rich_help_panel=PICTURES, epilog="Example: graphgate explore --dataset citeseer --out page.html"
)
@reads_graph
def explore(
    reading: Reading,
    edges: EdgesIfAny = None,
    nodes: Nodes = None,
    dataset: Dataset = "cora",
    model: Model = None,
    out: Annotated[Path | None, typer.Option(help="Where the page goes: an .html file.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it to this machine's browsers until Ctrl-C.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the server; 0 takes any free one.")
    ] = 0,
) -> None:
    """Make a page to look around in an embedded graph: one file, which asks for nothing else."""
    if out is None and not serve:
        raise InputError("say where the page goes: --out page.html, or --serve, or both")
    if out is not None:
        from graphgate.io.files import check_output_path

        check_output_path(out, (".html",))
    from graphgate.io.files import write_bytes
    from graphgate.visualization.page.page_content import build_content
    from graphgate.visualization.page.page_html import make_page
    from graphgate.visualization.page.page_server import PageServer, serve_page

    name, graph, gate = embedded_graph(dataset, model, edges, nodes, reading)
    encoded, title = gate.encode(graph), name[:1].upper() + name[1:]
    page = make_page(build_content(graph, encoded.embedding, encoded.attention, title=title))
    if out is not None:
        write_bytes(out, page)
        typer.echo(f"wrote {out} ({len(page) / 2**20:.1f} MiB); open it in a browser")
    if serve:
        with PageServer(page, port) as server:
            typer.echo(f"open {server.url}; Ctrl-C ends it")
            serve_page(server)
