"""`graphgate evaluate` and `reproduce`: methods measured as the paper measures them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from graphgate.cli.given import find_own, settings_of
from graphgate.cli.options import Json, Settings
from graphgate.cli.printing import print_table
from graphgate.cli.program import PAPER, app


@app.command(
    rich_help_panel=PAPER,
    epilog="Example: graphgate evaluate --method gate --dataset cora --setting transductive "
    "--runs 3 --seed 0 --json out.json",
)
def evaluate(
    dataset: Annotated[str, typer.Option(help="cora, citeseer or pubmed.")],
    method: Annotated[
        str, typer.Option(help="gate, a baseline by its name, or module:Class for your own.")
    ] = "gate",
    setting: Annotated[
        str, typer.Option(help="transductive, inductive, clustering or links.")
    ] = "transductive",
    runs: Annotated[int, typer.Option(min=1, help="Trainings, each with its own seed.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    preset: Annotated[
        str | None, typer.Option(help="Form of GATE: authors or paper; default: authors.")
    ] = None,
    set_: Settings = None,
    probe: Annotated[
        str | None, typer.Option(help="one-vs-rest or multinomial; default: the preset's.")
    ] = None,
    unseen: Annotated[
        str | None,
        typer.Option(help="Splits hidden while training, inductive: test or test,val."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes of one thread each; default: what is faster here."),
    ] = None,
    json: Json = None,
) -> None:
    """Train several times, classify the nodes, and put the paper's value beside ours."""
    from graphgate.io.files import check_output_path

    if json is not None:
        check_output_path(json, (".json",))
    from graphgate.datasets.citation import load_dataset

    source = load_dataset(dataset)
    from graphgate.experiments import evaluation
    from graphgate.io.files import write_json

    find_own([method])
    result = evaluation.evaluate(
        method,
        source,
        setting=setting,
        n_runs=runs,
        random_state=seed,
        preset=preset,
        params=settings_of(set_ or []),
        probe=probe,
        unseen=None if unseen is None else unseen.split(","),
        n_jobs=jobs,
    )
    print_table(result.heads(), [result.row()])
    if source.caveat:
        typer.echo(source.caveat)
    if json is not None:
        write_json(json, result.to_dict() | {"command": " ".join(["graphgate", *sys.argv[1:]])})
        typer.echo(f"wrote {json}")


@app.command(
    rich_help_panel=PAPER,
    epilog="Example: graphgate reproduce transductive --methods gcn,gae --datasets cora --runs 3",
)
def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="transductive, inductive, formulations, ablation, edges, clustering or links."
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(help="Rows, separated by commas: names, or module:Class; default: all."),
    ] = None,
    datasets: Annotated[
        str, typer.Option(help="Columns, separated by commas.")
    ] = "cora,citeseer,pubmed",
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs a cell; default: what the experiment says.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes of one thread each; default: one a core."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="random: a new split a seed, of the same sizes; default: the dataset's."),
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder where every run is kept.")] = Path(
        "results"
    ),
    report: Annotated[
        bool, typer.Option("--report", help="Run nothing; write the table of what is kept.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the cells to this file.")] = None,
) -> None:
    """Rerun a table: the paper's, or clustering and link prediction; resumably.

    Every run is kept under RESULTS/runs the moment it ends, and is never made twice: stop at any
    time, and the same command goes on where it was. With --report the table of what is kept is
    printed, and written to RESULTS/tables as Markdown, LaTeX and JSON.
    """
    from graphgate.io.files import check_output_path

    if json is not None:
        check_output_path(json, (".json",))
    from graphgate.datasets.citation import split_caveat
    from graphgate.experiments import reproduce as tables
    from graphgate.io.files import write_json

    columns, rows = datasets.split(","), None if methods is None else methods.split(",")
    find_own(rows or [])
    found = tables.reproduce(
        table,
        methods=rows,
        datasets=columns,
        n_runs=runs,
        n_jobs=jobs,
        split=split,
        results=results,
        run=not report,
    )
    if report:
        typer.echo(found.markdown())
        found.save(results / "tables", table)
        typer.echo(f"wrote {results / 'tables' / table}.md, .tex and .json", err=True)
    else:
        typer.echo(f"made {found.n_new:,} runs; all are in {results / 'runs'}")
    if json is not None:
        write_json(json, found.to_list())
    if table not in ("clustering", "links"):
        for name in columns:
            if found.grid.splits[name] == "seeded":
                typer.echo(split_caveat(name, "seeded"), err=True)
