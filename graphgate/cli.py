"""The command line: reads what was asked, calls the library, prints. Nothing else lives here.

Heavy imports wait until a command runs, so that help and mistakes are answered at once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphgate.errors import InputError, InputWarning

if TYPE_CHECKING:
    from graphgate.embedder import GATE
    from graphgate.graph import Graph

app = typer.Typer(
    name="graphgate",
    help="Node embeddings of attributed graphs by graph attention auto-encoders (GATE).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet",
)
data = typer.Typer(
    help="The citation graphs that results are compared on: Cora, Citeseer, Pubmed.",
    no_args_is_help=True,
    epilog="Example: graphgate data list",
)
app.add_typer(data, name="data")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"graphgate {version('graphgate')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that stand before every command; the help of the program is given above."""


Edges = Annotated[
    Path, typer.Argument(help="CSV of edges with the columns source, target and perhaps weight.")
]
Nodes = Annotated[
    Path,
    typer.Option(help="CSV of nodes: id, any number of numeric columns, and perhaps label."),
]
Out = Annotated[Path, typer.Option(help="Where the embedding goes: a .parquet or .csv file.")]
Device = Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")]


_NO_MEMORY = "not enough memory for this graph; use smaller --dims or a larger machine"


def main() -> None:
    """The command `graphgate`: what a user did wrong is one line and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = _show_note  # type: ignore[assignment]
            app()
    except InputError as error:
        sys.exit(_fail(str(error)))
    except MemoryError:
        sys.exit(_fail(_NO_MEMORY))
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # torch's words for it
            raise
        sys.exit(_fail(_NO_MEMORY))
    except SystemExit as stop:
        if stop.code == 130:
            typer.echo("interrupted", err=True)
        raise


def _show_note(message: Warning | str, *_: object) -> None:
    typer.echo(f"note: {message}", err=True)


def _fail(message: str) -> int:
    typer.echo(f"graphgate: {message}", err=True)
    return 2


@app.command(
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet "
    "--model model.safetensors --epochs 300"
)
def embed(
    edges: Edges,
    nodes: Nodes,
    out: Out,
    model: Annotated[
        Path | None, typer.Option(help="Also save the model here, for `graphgate transform`.")
    ] = None,
    directed: Annotated[
        bool, typer.Option("--directed", help="An edge makes its target attend over its source.")
    ] = False,
    dims: Annotated[str, typer.Option(help="Size of each layer, separated by commas.")] = "512,512",
    preset: Annotated[str, typer.Option(help="Form of the method: authors or paper.")] = "authors",
    structure_weight: Annotated[
        float, typer.Option(help="λ, weight of the structure loss beside the feature loss.")
    ] = 1.0,
    activation: Annotated[str, typer.Option(help="σ of every layer.")] = "identity",
    epochs: Annotated[int, typer.Option(help="Passes over the graph.")] = 200,
    learning_rate: Annotated[float, typer.Option(help="Step size of Adam.")] = 1e-4,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many epochs without improvement.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the starting weights.")] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state of the run here, and resume from it.")
    ] = None,
    device: Device = "cpu",
    dtype: Annotated[str, typer.Option(help="Precision: float32 or float64.")] = "float32",
) -> None:
    """Learn an embedding of a graph and write one vector a node."""
    from graphgate.sources.tables import check_output_path, read_graph, write_embedding

    check_output_path(out)
    for path in (model, checkpoint):
        if path is not None:
            check_output_path(path, (".safetensors",))
    _distinct(edges, nodes, out, model, checkpoint)
    graph = read_graph(edges, nodes, directed=directed or None)
    typer.echo(repr(graph), err=True)
    from graphgate.embedder import GATE

    gate = GATE(
        _sizes(dims),
        preset=preset,
        structure_weight=structure_weight,
        activation=activation,
        epochs=epochs,
        learning_rate=learning_rate,
        patience=patience,
        random_state=seed,
        checkpoint=checkpoint,
        device=device,
        dtype=dtype,
    )
    with _notes():
        gate.fit(graph)
    write_embedding(out, graph.ids, gate.embedding_)
    typer.echo(f"wrote {graph.n_nodes:,} vectors of {gate.embedding_.shape[1]} to {out}")
    if model is not None:
        gate.save(model)
        typer.echo(f"wrote the model to {model}")
    if gate.history_.stopped == "interrupted":
        typer.echo(f"this is what {len(gate.history_)} epochs learned", err=True)
        raise typer.Exit(130)


@app.command(
    epilog="Example: graphgate transform model.safetensors edges.csv --nodes nodes.csv "
    "--out embedding.parquet"
)
def transform(
    model: Annotated[Path, typer.Argument(help="A model that `graphgate embed` saved.")],
    edges: Edges,
    nodes: Nodes,
    out: Out,
    device: Device = "cpu",
) -> None:
    """Embed nodes with a saved model, also nodes that it has never seen.

    The model holds no graph: give the nodes to embed together with everything within as many
    hops of them as the model has layers.
    """
    from graphgate.sources.tables import check_output_path, read_graph, write_embedding

    check_output_path(out)
    _distinct(model, edges, nodes, out)
    from graphgate.embedder import GATE

    gate = GATE.load(model, device=device)
    graph = read_graph(edges, nodes, directed=gate.directed_)
    embedding = gate.transform(graph)
    write_embedding(out, graph.ids, embedding)
    typer.echo(f"wrote {graph.n_nodes:,} vectors of {embedding.shape[1]} to {out}")


@app.command(
    epilog="Example: graphgate evaluate --method gate --dataset cora --setting transductive "
    "--runs 3 --seed 0 --json out.json"
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
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another value of a setting; repeatable."),
    ] = None,
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
    json: Annotated[Path | None, typer.Option(help="Also write the result to this file.")] = None,
) -> None:
    """Train several times, classify the nodes, and put the paper's value beside ours."""
    from graphgate.sources.tables import check_output_path

    if json is not None:
        check_output_path(json, (".json",))
    from graphgate.sources.citation import load_dataset

    source = load_dataset(dataset)
    from graphgate.evaluation.workers import Layout
    from graphgate.experiments.evaluate import evaluate_method

    _find_own([method])
    result = evaluate_method(
        method,
        source,
        setting=setting,
        runs=runs,
        seed=seed,
        preset=preset,
        settings=_settings(set_ or []),
        probe=probe,
        unseen=None if unseen is None else tuple(unseen.split(",")),
        layout=None if jobs is None else Layout(jobs, 1),
    )
    from graphgate.evaluation.report import HEADS, report_row, write_json

    _print_table(HEADS, [report_row(result)])
    if source.caveat:
        typer.echo(source.caveat)
    if json is not None:
        write_json(json, result.to_dict() | {"command": " ".join(["graphgate", *sys.argv[1:]])})
        typer.echo(f"wrote {json}")


@app.command(
    epilog="Example: graphgate reproduce transductive --methods gcn,gae --datasets cora --runs 3"
)
def reproduce(
    table: Annotated[
        str, typer.Argument(help="transductive, inductive (the paper's), formulations or ablation.")
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
    """Rerun a table of the paper: every method, dataset and seed, resumably.

    Every run is kept under RESULTS/runs the moment it ends, and is never made twice: stop at any
    time, and the same command goes on where it was. With --report the table of what is kept is
    printed, and written to RESULTS/tables as Markdown, LaTeX and JSON.
    """
    from graphgate.sources.tables import check_output_path

    if json is not None:
        check_output_path(json, (".json",))
    if split not in (None, "random", "public", "seeded"):
        raise InputError(f"unknown split {split!r}; use random, public or seeded")
    from graphgate.experiments import table as tables
    from graphgate.experiments.runner import Grid, run_grid
    from graphgate.experiments.trial import Results
    from graphgate.sources.citation import load_dataset

    columns, kept = datasets.split(","), Results(results / "runs")
    rows = None if methods is None else methods.split(",")
    _find_own(rows or [])
    cells = tables.experiments_of(table, rows, columns)
    sources = {name: load_dataset(name) for name in columns}
    splits = {name: split or source.split for name, source in sources.items()}
    if report and split is None:  # the public split's runs count wherever they were made
        named = {(cell.method, cell.dataset) for cell in cells}
        splits |= {name: "public" for row, name in named if kept.has_split(row, name, "public")}
    grid = Grid(cells, kept, splits, runs)
    if not report:
        from graphgate.evaluation.workers import Layout, available_cores

        made = run_grid(grid, Layout(jobs or available_cores(), 1))
        typer.echo(f"made {made:,} runs; all are in {kept.folder}")
    found = tables.make_table(grid, columns)
    if report:
        typer.echo(found.markdown())
        tables.write_table(found, results / "tables", table)
        typer.echo(f"wrote {results / 'tables' / table}.md, .tex and .json", err=True)
    if json is not None:
        from graphgate.evaluation.report import write_json

        write_json(json, found.to_list())
    for name in columns:
        if splits[name] == "seeded":
            typer.echo(sources[name].caveat, err=True)


@app.command(epilog="Example: graphgate figures --dataset cora --out figures")
def figures(
    edges: Annotated[
        Path | None, typer.Argument(help="CSV of edges of your own graph, with --nodes.")
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="CSV of its nodes.")] = None,
    dataset: Annotated[str, typer.Option(help="A citation graph, where no edges are given.")] = (
        "cora"
    ),
    model: Annotated[
        Path | None, typer.Option(help="A saved model; without one, one is trained first.")
    ] = None,
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
    from graphgate.evaluation.edge_attention import class_attention, edge_attention
    from graphgate.evaluation.report import write_json
    from graphgate.experiments.trial import Results
    from graphgate.figures.gallery import ablation_figures, graph_figures, write_figures
    from graphgate.figures.loss_curve import draw_losses

    name, graph, gate = _embedded(dataset, model, edges, nodes)
    made = ablation_figures(Results(results / "runs"))
    if hasattr(gate, "history_"):
        losses = {"loss": gate.history_["loss"], "features": gate.history_["feature"]}
        losses["structure"] = gate.history_["structure"]
        made[f"{name}-losses"] = draw_losses(losses, title=f"{name}: losses of training")
    attention = gate.attend(graph).average
    made |= graph_figures(name, graph, gate.transform(graph), attention)
    for path in write_figures(made, out, formats.split(",")):
        typer.echo(f"wrote {path}")
    told = (
        None if graph.labels is None else class_attention(edge_attention(attention), graph.labels)
    )
    if told is not None:
        write_json(out / f"{name}-attention.json", told.to_dict())
        typer.echo(
            f"edges within a class have {told.raw_ratio:.3f} times the attention of the others; "
            f"{told.corrected_ratio:.3f} times once degrees are out of it (at most e = 2.718)"
        )


@app.command(epilog="Example: graphgate explore --dataset citeseer --out page.html")
def explore(
    edges: Annotated[
        Path | None, typer.Argument(help="CSV of edges of your own graph, with --nodes.")
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="CSV of its nodes.")] = None,
    dataset: Annotated[str, typer.Option(help="A citation graph, where no edges are given.")] = (
        "cora"
    ),
    model: Annotated[
        Path | None, typer.Option(help="A saved model; without one, one is trained first.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the page goes: an .html file.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it to this machine's browsers until Ctrl-C.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the server; 0 takes any free one.")] = 0,
) -> None:
    """Make a page to look around in an embedded graph: one file, which asks for nothing else."""
    if out is None and not serve:
        raise InputError("say where the page goes: --out page.html, or --serve, or both")
    if out is not None:
        from graphgate.sources.tables import check_output_path

        check_output_path(out, (".html",))
    from graphgate.explorer.content import from_embedding
    from graphgate.explorer.page import make_page
    from graphgate.explorer.server import PageServer, serve_page
    from graphgate.files import write_bytes

    name, graph, gate = _embedded(dataset, model, edges, nodes)
    content = from_embedding(graph, gate.transform(graph), gate.attend(graph), title=name)
    page = make_page(content)
    if out is not None:
        write_bytes(out, page)
        typer.echo(f"wrote {out} ({len(page) / 2**20:.1f} MiB); open it in a browser")
    if serve:
        with PageServer(page, port) as server:
            typer.echo(f"open {server.url}; Ctrl-C ends it")
            serve_page(server)


@data.command(name="list", epilog="Example: graphgate data list")
def list_data() -> None:
    """Show the datasets: the paper's counts, ours without duplicates, and where they are."""
    from graphgate.sources.citation import dataset_rows

    heads = ["dataset", "nodes", "edges", "distinct", "features", "classes", "split", "from"]
    rows = []
    for row in dataset_rows():
        ours = row.ours
        split = f"{ours.train}/{ours.val}/{ours.test} {row.split}"
        counts = (ours.nodes, row.listed_edges, ours.edges, ours.features, ours.classes)
        rows.append([row.name, *(f"{count:,}" for count in counts), split, row.origin])
    _print_table(heads, rows)
    typer.echo("edges: as the paper's table counts them; distinct: undirected pairs, duplicates")
    typer.echo("and self-loops removed. `graphgate data fetch` gets the public split of Cora.")


@data.command(epilog="Example: graphgate data fetch cora")
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; all if none.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Instead of the cache.")] = None,
) -> None:
    """Download the public Planetoid files, each checked against its SHA-256."""
    from graphgate.sources.citation import NAMES, check_name, fetch

    for name in names or NAMES:
        check_name(name)
    for name in names or NAMES:
        typer.echo(f"{name}: in {fetch(name, folder=folder)}")


@data.command(epilog="Example: graphgate data verify")
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; all if none.")] = None,
) -> None:
    """Check every copy of every file; exit code 2 if one is altered or unreadable."""
    from graphgate.sources.citation import NAMES, verify

    rows, found = [], []
    for name in names or NAMES:
        statuses = verify(name)
        found += statuses
        for place in dict.fromkeys(status.place for status in statuses):
            files = [status for status in statuses if status.place == place]
            if len(files) > 1 and all(file.status == "missing" for file in files):
                rows.append([f"{name}, {len(files)} files", "none there", place])
            else:
                rows += [[file.file, file.status, place] for file in files]
    _print_table(["file", "status", "where"], rows)
    if bad := [row for row in found if row.status not in ("ok", "missing")]:
        raise InputError(
            f"{bad[0].file} ({bad[0].place}) is {bad[0].status}; remove it, or get it anew with "
            "`graphgate data fetch`"
        )


@app.command(epilog="Example: graphgate demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for what it makes.")] = Path("demo"),
    runs: Annotated[int, typer.Option(min=1, help="Runs behind each accuracy.")] = 3,
) -> None:
    """Train on the citation graphs that come with the package, and compare with the paper."""
    from graphgate.demo import DEMO_DATASETS, run_demo
    from graphgate.evaluation.report import HEADS, report_row
    from graphgate.sources.citation import load_dataset

    sources = [load_dataset(name) for name in DEMO_DATASETS]
    rows = []
    for step in run_demo(sources, out, runs=runs):
        if isinstance(step, Path):
            typer.echo(f"wrote {step}")
        else:
            rows.append(report_row(step))
            typer.echo("  ".join(rows[-1][:-2]))
    _print_table(HEADS, rows)
    for source in sources:
        if source.caveat:
            typer.echo(source.caveat)


def _distinct(*paths: Path | None) -> None:
    """Refuse to write over what is read, or one output over another."""
    seen: dict[Path, Path] = {}
    for path in paths:
        if path is not None and seen.setdefault(path.resolve(), path) is not path:
            raise InputError(f"{path} is named twice; give every input and output its own file")


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--dims takes whole numbers such as 512,512, got {text!r}") from None


def _embedded(
    dataset: str, model: Path | None, edges: Path | None, nodes: Path | None
) -> tuple[str, Graph, GATE]:
    """Name, graph and model of what is to be shown; where no model is given, one is trained."""
    if (edges is None) != (nodes is None):
        raise InputError("your own graph needs both: EDGES and --nodes FILE")
    from graphgate.embedder import GATE

    gate = None if model is None else GATE.load(model)
    if edges is not None and nodes is not None:
        from graphgate.sources.tables import read_graph

        name = edges.stem
        graph = read_graph(edges, nodes, directed=gate is not None and gate.directed_)
        fresh = GATE(random_state=0)
    else:
        from graphgate.experiments.experiment import find_experiment
        from graphgate.sources.citation import load_dataset

        name, graph = dataset, load_dataset(dataset).graph
        experiment = find_experiment("gate", dataset, "transductive")
        assert experiment is not None
        fresh = GATE(**experiment.settings, random_state=0)
    if gate is None:
        with _notes():
            gate = fresh.fit(graph)
    return name, graph, gate


def _find_own(methods: list[str]) -> None:
    """A method of the user's own, module:Class, is looked for in the current folder too."""
    if any(":" in name for name in methods) and "" not in sys.path:
        sys.path.insert(0, "")


def _settings(given: list[str]) -> dict[str, object]:
    import tomllib

    found: dict[str, object] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (sign and name):
            raise InputError(f"--set takes NAME=VALUE, got {text!r}")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = value  # a word needs no quotes
    return found


def _print_table(heads: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*heads, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    # Where nobody's terminal sets a width, lines are as long as they need to be.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)


@contextmanager
def _notes() -> Iterator[None]:
    """Warnings of the library as plain lines instead of Python's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if type(warning.message).__name__ in ("ConvergenceWarning", "InputWarning"):
            typer.echo(f"note: {warning.message}", err=True)
