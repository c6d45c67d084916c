"""`graphgate reproduce`: the tables of results."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.inputs import check_files, import_from_here
from graphgate.cli.options import Jobs, Json
from graphgate.cli.outputs import write_content
from graphgate.cli.program import PAPER
from graphgate.errors import InputError
from graphgate.paper.commands.group import paper, print_caveats


@paper.command(
    rich_help_panel=PAPER,
    epilog="Example: graphgate reproduce transductive --methods gcn,gae --datasets cora --runs 3",
)
def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="transductive, inductive, formulations, ablation, edges, unseen, clustering, "
            "links or quality (methods × graphs × three tasks).",
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(help="Rows, separated by commas: names or module:Class; default: all."),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(help="Columns, separated by commas; default: the citation graphs, or all."),
    ] = None,
    graphs: Annotated[
        Path | None,
        typer.Option(help="quality: folder of further graphs, .npz archives; see docs/quality.md."),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs per cell; default: set by the experiment.")
    ] = None,
    jobs: Jobs = None,
    split: Annotated[
        str | None,
        typer.Option(help="random: a new split per seed; default: the dataset's own split."),
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder in which runs are stored.")] = Path(
        "results"
    ),
    report: Annotated[
        bool, typer.Option("--report", help="Only write the table of the stored runs.")
    ] = False,
    json: Json = None,
) -> None:
    """Rerun a table of results: the paper's, clustering or link prediction.

    Every run is stored in RESULTS/runs as soon as it finishes and is never repeated, so the same
    command resumes after an interruption. --report prints the table of the stored runs and writes
    it to RESULTS/tables as Markdown, LaTeX and JSON.
    """
    from graphgate.io.files import check_folder

    check_files(json=json)
    check_folder(results)
    if report and jobs is not None:
        raise InputError("--report runs nothing; omit --jobs")
    rows = None if methods is None else methods.split(",")
    import_from_here(rows or [])
    result = graphgate.reproduce(
        table,
        methods=rows,
        datasets=None if datasets is None else datasets.split(","),
        graphs=graphs,
        n_runs=runs,
        n_jobs=jobs,
        split=split,
        results=results,
        run=not report,
    )
    if report:
        say(result.markdown())
        result.save(results / "tables", table)
        say(f"wrote {results / 'tables' / table}.md, .tex and .json", err=True)
    else:
        say(f"{result.n_new:,} new runs; all runs are in {results / 'runs'}")
    write_content(json, result.to_list())
    if table not in ("clustering", "links"):
        print_caveats({name: result.grid.splits[name] for name in result.datasets})
