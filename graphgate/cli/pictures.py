"""`graphgate figures` and `explore`: pictures of an embedded graph."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.inputs import check_files
from graphgate.cli.methods import embedded_graph
from graphgate.cli.options import Dataset, Edges, GraphOptions, Method, Model, Nodes, reads_graph
from graphgate.cli.program import PICTURES, app
from graphgate.errors import InputError


@app.command(
    rich_help_panel=PICTURES, epilog="Example: graphgate figures --dataset cora --out figures"
)
@reads_graph
def figures(
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = "cora",
    model: Model = None,
    results: Annotated[Path, typer.Option(help="Folder with the runs of `reproduce`.")] = (
        Path("results")
    ),
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    formats: Annotated[str, typer.Option(help="png, svg, pdf; separated by commas.")] = "png,svg",
) -> None:
    """Draw the paper's figures: ablations, maps of nodes and edges, losses.

    The bar charts show stored runs; the maps show a saved model, or GATE, which is trained first.
    Edges are drawn by attention or, for a model of the linear method, by edge score. Attention
    statistics within and between classes are written as well.
    """
    from graphgate.datasets.citation import name_classes
    from graphgate.io.files import check_folder
    from graphgate.tasks.edge_attention import class_attention, edge_attention
    from graphgate.visualization.gallery import check_formats

    check_formats(formats.split(","))  # before any training
    check_folder(out)
    method = "gate" if model is None else None
    name, graph, gate = embedded_graph(method, dataset, model, edges, nodes, options)
    encoded = gate.encode(graph)
    graph = name_classes(name, graph) if edges is None else graph
    history = getattr(gate, "history_", None)  # a loaded model has none
    for path in graphgate.write_figures(
        out,
        graph,
        encoded.embedding,
        encoded.edge_values,
        name=name,
        history=None if history is None else history.series,
        results=results,
        formats=formats.split(","),
    ):
        say(f"wrote {path}")
    if graph.labels is None or not isinstance(gate, graphgate.GATE):
        return
    found = class_attention(edge_attention(gate.encode(graph).attention.average), graph.labels)
    if found is not None:
        say(
            f"edges within a class receive {found['raw_ratio']:.3f} times the attention of other "
            f"edges; {found['corrected_ratio']:.3f} times after correcting for degree (at most e ≈ "
            "2.718)"
        )


@app.command(
    rich_help_panel=PICTURES, epilog="Example: graphgate explore --dataset citeseer --out page.html"
)
@reads_graph
def explore(
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = "cora",
    model: Model = None,
    method: Method = None,
    out: Annotated[Path | None, typer.Option(help="Write the page to this .html file.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on this machine until Ctrl-C.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the server; 0 picks a free one.")
    ] = 0,
) -> None:
    """Write an interactive page of an embedded graph: a self-contained HTML file."""
    if out is None and not serve:
        raise InputError("give --out page.html, or --serve, or both")
    check_files(edges, nodes, model, page=out)
    from graphgate.datasets.citation import name_classes
    from graphgate.io.files import write_bytes
    from graphgate.visualization.page.page_content import build_content
    from graphgate.visualization.page.page_html import make_page
    from graphgate.visualization.page.page_server import PageServer, serve_page

    name, graph, gate = embedded_graph(method, dataset, model, edges, nodes, options)
    encoded, title = gate.encode(graph), name[:1].upper() + name[1:]
    graph = name_classes(name, graph) if edges is None else graph
    page = make_page(build_content(graph, encoded.embedding, encoded.edge_values, title=title))
    if out is not None:
        write_bytes(out, page)
        say(f"wrote {out} ({len(page) / 2**20:.1f} MiB); open it in a browser")
    if serve:
        with PageServer(page, port) as server:
            say(f"open {server.url} in a browser; Ctrl-C stops the server")
            serve_page(server)
