"""`graphgate data`: the citation graphs that results are compared on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphgate.cli.printing import print_table
from graphgate.cli.program import PAPER, app
from graphgate.errors import InputError

data = typer.Typer(
    help="The citation graphs that results are compared on: Cora, Citeseer, Pubmed.",
    no_args_is_help=True,
    epilog="Example: graphgate data list",
)
app.add_typer(data, name="data", rich_help_panel=PAPER)


@data.command(name="list", epilog="Example: graphgate data list")
def list_data() -> None:
    """Show the datasets: the paper's counts, ours without duplicates, and where they are."""
    from graphgate.datasets.citation import NAMES, load_dataset

    heads = ["dataset", "nodes", "edges", "distinct", "features", "classes", "split", "from"]
    rows = []
    for row in map(load_dataset, NAMES):
        ours = row.statistics
        split = f"{ours.train}/{ours.val}/{ours.test} {row.split}"
        counts = (ours.nodes, row.listed_edges, ours.edges, ours.features, ours.classes)
        rows.append([row.name, *(f"{count:,}" for count in counts), split, row.origin])
    print_table(heads, rows)
    typer.echo("edges: as the paper's table counts them; distinct: undirected pairs, duplicates")
    typer.echo("and self-loops removed. `graphgate data fetch` gets the public split of Cora.")


@data.command(epilog="Example: graphgate data fetch cora")
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; all if none.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Instead of the cache.")] = None,
) -> None:
    """Download the public Planetoid files, each checked against its SHA-256."""
    from graphgate.datasets.citation import NAMES, check_name, fetch_dataset

    for name in names or NAMES:
        check_name(name)
    for name in names or NAMES:
        typer.echo(f"{name}: in {fetch_dataset(name, folder)}")


@data.command(epilog="Example: graphgate data export cora papers")
def export(
    name: Annotated[str, typer.Argument(help="cora, citeseer or pubmed.")],
    folder: Annotated[Path, typer.Argument(help="Where the tables go; made if it is not there.")],
    parquet: Annotated[bool, typer.Option("--parquet", help="Parquet instead of CSV.")] = False,
) -> None:
    """Write a dataset as tables of nodes and edges, such as one's own graph would be.

    The words of a paper are a column of text, so read them with --words words.
    """
    from graphgate.datasets.citation import load_dataset
    from graphgate.io.graph_writer import write_graph

    for path in write_graph(folder, load_dataset(name).graph, ".parquet" if parquet else ".csv"):
        typer.echo(f"wrote {path}")


@data.command(epilog="Example: graphgate data verify")
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; all if none.")] = None,
) -> None:
    """Check every copy of every file; exit code 2 if one is altered or unreadable."""
    from graphgate.datasets.citation import NAMES, verify_dataset

    rows, found = [], []
    for name in names or NAMES:
        statuses = verify_dataset(name)
        found += statuses
        for place in dict.fromkeys(status.place for status in statuses):
            files = [status for status in statuses if status.place == place]
            if len(files) > 1 and all(file.status == "missing" for file in files):
                rows.append([f"{name}, {len(files)} files", "none there", place])
            else:
                rows += [[file.file, file.status, place] for file in files]
    print_table(["file", "status", "where"], rows)
    if bad := [row for row in found if row.status not in ("ok", "missing")]:
        raise InputError(
            f"{bad[0].file} ({bad[0].place}) is {bad[0].status}; remove it, or get it anew with "
            "`graphgate data fetch`"
        )
