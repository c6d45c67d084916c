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
from graphgate.errors import InputError


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
    setting: Annotated[str, typer.Option(help="transductive or inductive.")] = "transductive",
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
    from graphgate.io.places import check_output_path

    if json is not None:
        check_output_path(json, (".json",))
    from graphgate.datasets.citation import load_dataset

    source = load_dataset(dataset)
    from graphgate.experiments.evaluate import evaluate_method
    from graphgate.experiments.workers import Layout

    find_own([method])
    result = evaluate_method(
        method,
        source,
        setting=setting,
        runs=runs,
        seed=seed,
        preset=preset,
        settings=settings_of(set_ or []),
        probe=probe,
        unseen=None if unseen is None else tuple(unseen.split(",")),
        layout=None if jobs is None else Layout(jobs, 1),
    )
    from graphgate.experiments.report import HEADS, report_row, write_json

    print_table(HEADS, [report_row(result)])
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
    from graphgate.io.places import check_output_path

    if json is not None:
        check_output_path(json, (".json",))
    if split not in (None, "random", "public", "seeded"):
        raise InputError(f"unknown split {split!r}; use random, public or seeded")
    from graphgate.datasets.citation import load_dataset
    from graphgate.experiments import table as tables
    from graphgate.experiments.runner import Grid, run_grid
    from graphgate.experiments.trial import Results

    columns, kept = datasets.split(","), Results(results / "runs")
    rows = None if methods is None else methods.split(",")
    find_own(rows or [])
    cells = tables.experiments_of(table, rows, columns)
    sources = {name: load_dataset(name) for name in columns}
    splits = {name: split or source.split for name, source in sources.items()}
    if report and split is None:  # the public split's runs count wherever they were made
        named = {(cell.method, cell.dataset) for cell in cells}
        splits |= {name: "public" for row, name in named if kept.has_split(row, name, "public")}
    grid = Grid(cells, kept, splits, runs)
    if not report:
        from graphgate.experiments.workers import Layout, available_cores

        made = run_grid(grid, Layout(jobs or available_cores(), 1))
        typer.echo(f"made {made:,} runs; all are in {kept.folder}")
    found = tables.make_table(grid, columns)
    if report:
        typer.echo(found.markdown())
        tables.write_table(found, results / "tables", table)
        typer.echo(f"wrote {results / 'tables' / table}.md, .tex and .json", err=True)
    if json is not None:
        from graphgate.experiments.report import write_json

        write_json(json, found.to_list())
    for name in columns:
        if splits[name] == "seeded" and table not in ("clustering", "links"):
            typer.echo(sources[name].caveat, err=True)
