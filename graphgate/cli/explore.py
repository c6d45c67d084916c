"""`graphgate explore`: an interactive page of an embedded graph."""

from pathlib import Path
from typing import Annotated

import typer

from graphgate.cli.console import say
from graphgate.cli.conventions import Output
from graphgate.cli.inputs import embedded_graph
from graphgate.cli.options import Dataset, Edges, GraphOptions, Method, Model, Nodes
from graphgate.cli.outputs import say_page
from graphgate.cli.program import PICTURES, app
from graphgate.errors import InputError


@app.command(
    rich_help_panel=PICTURES, epilog="Example: graphgate explore --dataset citeseer --out page.html"
)
def explore(
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    method: Method = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this .html file."), Output("page")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on this machine until Ctrl-C.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the server; 0 picks a free one.")
    ] = 0,
    *,
    options: GraphOptions,
) -> None:
    """Write an interactive page of an embedded graph: a self-contained HTML file."""
    if out is None and not serve:
        raise InputError("give --out page.html, or --serve, or both")
    from graphgate.datasets.citation import name_classes
    from graphgate.io.files import write_bytes
    from graphgate.visualization.page.page_content import build_content
    from graphgate.visualization.page.page_html import make_page
    from graphgate.visualization.page.page_server import PageServer, serve_page

    if edges is None and dataset is None:
        dataset = "cora"
    name, graph, gate = embedded_graph(method, dataset, model, edges, nodes, options)
    encoded, title = gate.encode(graph), name[:1].upper() + name[1:]
    graph = name_classes(name, graph) if edges is None else graph
    page = make_page(build_content(graph, encoded.embedding, encoded.edge_values, title=title))
    if out is not None:
        write_bytes(out, page)
        say_page(out)
    if serve:
        with PageServer(page, port) as server:
            say(f"open {server.url} in a browser; Ctrl-C stops the server")
            serve_page(server)
