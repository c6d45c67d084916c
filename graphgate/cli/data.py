"""`graphgate data`: the citation graphs of the benchmarks."""

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import check_files
from graphgate.cli.options import Json
from graphgate.cli.outputs import write_result
from graphgate.cli.program import PAPER, app
from graphgate.errors import InputError

data = typer.Typer(
    help="List, download, export and verify the citation graphs: Cora, Citeseer, Pubmed.",
    no_args_is_help=True,
    epilog="Example: graphgate data list",
)
app.add_typer(data, name="data", rich_help_panel=PAPER)


@data.command(name="list", epilog="Example: graphgate data list")
def list_data(json: Json = None) -> None:
    """List the datasets with their sizes, splits and where they are read from."""
    from graphgate.datasets.citation import NAMES, load_dataset

    check_files(json=json)
    heads = ["dataset", "nodes", "edges", "distinct", "features", "classes", "split", "from"]
    rows = []
    for dataset in map(load_dataset, NAMES):
        sizes = dataset.statistics
        split = f"{sizes.train}/{sizes.val}/{sizes.test} {dataset.split}"
        edges = (dataset.listed_edges, sizes.edges)
        counts = (sizes.nodes, *edges, sizes.features, sizes.classes)
        rows.append([dataset.name, *(f"{count:,}" for count in counts), split, dataset.origin])
    print_table(heads, rows)
    say("edges: as counted in the paper; distinct: undirected, without duplicates and loops")
    say("`graphgate data fetch` downloads the public split of Cora")
    write_result(json, {"datasets": [dict(zip(heads, row, strict=True)) for row in rows]})


@data.command(epilog="Example: graphgate data fetch cora")
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAMES", help="Datasets; default: all.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Destination; default: the cache.")] = None,
) -> None:
    """Download the public Planetoid files and verify their SHA-256 checksums."""
    from graphgate.datasets.citation import NAMES, check_name

    for name in names or NAMES:
        check_name(name)
    for name in names or NAMES:
        say(f"{name} is in {graphgate.fetch_dataset(name, folder)}")


@data.command(epilog="Example: graphgate data export cora papers")
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="cora, citeseer or pubmed.")],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Output folder; created if needed.")
    ],
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write Parquet instead of CSV.")
    ] = False,
) -> None:
    """Write a dataset as node and edge tables.

    The words of the papers are the text column words; read it with --words words.
    """
    ending = ".parquet" if parquet else ".csv"
    for path in graphgate.write_graph(folder, graphgate.load_dataset(name).graph, ending):
        say(f"wrote {path}")


@data.command(epilog="Example: graphgate data verify")
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAMES", help="Datasets; default: all.")
    ] = None,
    json: Json = None,
) -> None:
    """Verify every copy of every file; exit with code 2 if one is modified or unreadable."""
    from graphgate.datasets.citation import NAMES, verify_dataset

    check_files(json=json)
    heads = ["file", "status", "where"]
    rows, listed = [], []
    for name in names or NAMES:
        for place, files in groupby(verify_dataset(name), attrgetter("place")):
            copy = [[file.file, file.status, place] for file in files]
            listed += copy
            missing = len(copy) > 1 and all(status == "missing" for _, status, _ in copy)
            rows += [[f"{name}, {len(copy)} files", "missing", place]] if missing else copy
    print_table(heads, rows)
    write_result(json, {"files": [dict(zip(heads, row, strict=True)) for row in listed]})
    for file, status, place in listed:
        if status not in ("ok", "missing"):
            raise InputError(
                f"{file} ({place}) is {status}; remove it, or download it again with "
                "`graphgate data fetch`"
            )
