"""`graphgate demo`, `evaluate` and `reproduce`: methods evaluated as in the paper."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import check_files, import_from_here, parse_params
from graphgate.cli.methods import embedded_graph
from graphgate.cli.options import GraphOptions, Jobs, Json, Params
from graphgate.cli.program import PAPER, app, write_result
from graphgate.errors import InputError

DEMO_DATASETS = ("cora", "citeseer")


@app.command(rich_help_panel=PAPER, epilog="Example: graphgate demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo"),
    paper: Annotated[
        bool, typer.Option("--paper", help="Train the paper's model and compare with its numbers.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of runs per setting; default: 1, or 3 with --paper."),
    ] = None,
) -> None:
    """Embed the bundled citation graphs, classify their nodes, and write maps and pages."""
    for library in ("matplotlib", "pydeck"):
        if find_spec(library) is None:
            raise InputError(f"the figures need {library}: pip install 'graphgate[viz]'")
    from graphgate.experiments.experiment import CLASSIFICATION_SETTINGS
    from graphgate.io.files import make_folder, write_json

    make_folder(out)
    method, n_runs = ("gate", runs or 3) if paper else ("linear", runs or 1)
    rows, splits = [], {}
    for dataset in map(graphgate.load_dataset, DEMO_DATASETS):
        results = []
        for setting in CLASSIFICATION_SETTINGS:
            found = graphgate.evaluate(method, dataset, setting=setting, n_runs=n_runs)
            results.append(found.to_dict())
            rows.append(found.row())
            say("  ".join(rows[-1][:-2]))
        write_json(out / f"{dataset.name}.json", results)
        for path in (out / f"{dataset.name}.json", *_write_artifacts(method, dataset.name, out)):
            say(f"wrote {path}")
        splits[dataset.name] = dataset.split
    print_table(found.heads(), rows)
    _print_caveats(splits)
    pages = " or ".join(str(out / f"{name}.html") for name in DEMO_DATASETS)
    say(f"open {pages} in a browser to explore a graph")


def _write_artifacts(method: str, name: str, out: Path) -> Iterator[Path]:
    """Embedding, model, figure and page of one model of the whole graph."""
    from graphgate.datasets.citation import name_classes
    from graphgate.io.files import replacing
    from graphgate.visualization.maps import draw_nodes, project

    _, graph, gate = embedded_graph(method, name, None, None, None, GraphOptions())
    if isinstance(gate, graphgate.LinearGATE):
        for sentence in gate.report_.sentences():
            say(f"{name}: {sentence}")
    stem, title = out / name, name.capitalize()
    found = graphgate.Embedding.of(graph, gate.embedding_)
    yield found.save(stem.with_suffix(".parquet"))
    gate.save(stem.with_suffix(".safetensors"))
    yield stem.with_suffix(".safetensors")
    graph, points = name_classes(name, graph), project(gate.embedding_)
    caption = f"{title}: {graph.n_nodes:,} papers, {type(gate).__name__} and t-SNE"
    axes: Any = draw_nodes(points, graph.labels, graph.classes, title=caption)
    with replacing(stem.with_suffix(".png")) as temporary:
        axes.figure.savefig(temporary, format="png")
    yield stem.with_suffix(".png")
    page, values = stem.with_suffix(".html"), gate.encode(graph).edge_values
    yield graphgate.write_page(page, graph, gate.embedding_, values, title=title, points=points)


@app.command(
    rich_help_panel=PAPER,
    epilog="Example: graphgate evaluate --method gate --dataset cora --setting transductive "
    "--runs 3 --seed 0 --json out.json",
)
def evaluate(
    dataset: Annotated[str, typer.Option(help="cora, citeseer or pubmed.")],
    method: Annotated[
        str, typer.Option(help="gate, linear, the name of a baseline, or your own module:Class.")
    ] = "gate",
    setting: Annotated[
        str, typer.Option(help="transductive, inductive, clustering or links.")
    ] = "transductive",
    runs: Annotated[int, typer.Option(min=1, help="Number of runs, each with its own seed.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the first run.")] = 0,
    preset: Annotated[
        str | None, typer.Option(help="Formulation of GATE: authors or paper; default: authors.")
    ] = None,
    set_: Params = None,
    probe: Annotated[
        str | None, typer.Option(help="one-vs-rest or multinomial; default: that of the preset.")
    ] = None,
    unseen: Annotated[
        str | None,
        typer.Option(help="Splits hidden during inductive training: test or test,val."),
    ] = None,
    jobs: Jobs = None,
    json: Json = None,
) -> None:
    """Train and score a method several times and compare with the paper."""
    check_files(json=json)
    source = graphgate.load_dataset(dataset)
    import_from_here([method])
    result = graphgate.evaluate(
        method,
        source,
        setting=setting,
        n_runs=runs,
        random_state=seed,
        preset=preset,
        params=parse_params(set_),
        probe=probe,
        unseen=None if unseen is None else unseen.split(","),
        n_jobs=jobs,
    )
    print_table(result.heads(), [result.row()])
    _print_caveats({source.name: source.split})
    write_result(json, result.to_dict())


@app.command(
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
    json: Annotated[Path | None, typer.Option(help="Write the cells to this .json file.")] = None,
) -> None:
    """Rerun a table of results: the paper's, clustering or link prediction.

    Every run is stored in RESULTS/runs as soon as it finishes and is never repeated, so the same
    command resumes after an interruption. --report prints the table of the stored runs and writes
    it to RESULTS/tables as Markdown, LaTeX and JSON.
    """
    from graphgate.io.files import check_folder

    check_files(json=json)
    check_folder(results)
    rows = None if methods is None else methods.split(",")
    import_from_here(rows or [])
    if table == "quality":
        named = None if datasets is None else datasets.split(",")
        _reproduce_quality(rows, named, graphs, runs, results, run=not report)
        return
    columns = ("cora,citeseer,pubmed" if datasets is None else datasets).split(",")
    found = graphgate.reproduce(
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
        say(found.markdown())
        found.save(results / "tables", table)
        say(f"wrote {results / 'tables' / table}.md, .tex and .json", err=True)
    else:
        say(f"{found.n_new:,} new runs; all runs are in {results / 'runs'}")
    if json is not None:
        from graphgate.io.files import write_json

        write_json(json, found.to_list())
    if table not in ("clustering", "links"):
        _print_caveats({name: found.grid.splits[name] for name in columns})


def _reproduce_quality(
    methods: list[str] | None,
    names: list[str] | None,
    graphs: Path | None,
    runs: int | None,
    results: Path,
    *,
    run: bool,
) -> None:
    """Run what is missing from the comparison, or print its tables."""
    from graphgate.experiments import quality
    from graphgate.experiments.quality_table import quality_markdown

    store, rows = quality.QualityStore(results / "quality"), methods or list(quality.METHODS)
    if run:
        planned = quality.planned_runs(rows, names, graphs, runs or quality.RUNS)
        n_new = quality.run_quality(store, planned)
        say(f"{n_new:,} new runs; all runs are in {store.folder}")
    else:
        say(quality_markdown(store, rows, names or store.graphs()))


def _print_caveats(splits: dict[str, str]) -> None:
    """Say on standard error which results are not on the public split."""
    for name, split in splits.items():
        if split == "seeded":
            say(
                f"{name}: a seeded split of the same sizes, not the public split; "
                f"`graphgate data fetch {name}` downloads that",
                err=True,
            )
