"""The tables of the benchmarks, from what is stored in results/benchmarks and from nothing else.

`scripts/render_tables.py` puts them into README.md and docs/.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks import hosts
from graphgate.paper.experiments.experiment import with_std
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import QUALITY

RESULTS = Path(__file__).parents[1] / "results" / "benchmarks"
PEERS = {"ours": "graphgate", "plain": "plain PyTorch", "pyg": "PyTorch Geometric"}
TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "wordnet": "WordNet"}
TITLES |= {"dblp": "DBLP", "linear": "LinearGATE", "gate": "GATE"}
# Those whose computers the documentation names, in this order.
MACHINE = (
    *("epoch", "growth", "layouts", "reading", "estimate", "commands", "explorer", "linear"),
    *("large", "parts", "two_hosts", "store", "service", "fits"),
)
Record = Mapping[str, Any]
Records = list[dict[str, Any]]
Cell = str | Callable[[Any], Any]  # a format, such as "{nodes:,}", or what makes the text


def markdown(heads: Iterable[str], rows: Iterable[Iterable[Any]], align: str = "---:") -> str:
    """A table whose columns are aligned to the right, but for the first one."""
    heads = list(heads)
    rule = ["---", *[align] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in [heads, rule, *rows])


def table(columns: Mapping[str, Cell], records: Iterable[Record], align: str = "---:") -> str:
    """One row per record, one column per head."""
    rows = [[_text(cell, of) for cell in columns.values()] for of in records]
    return markdown(columns, rows, align)


def _text(cell: Cell, of: Record) -> str:
    """A cell; why a measurement failed in place of numbers that it lacks."""
    try:
        return cell.format_map(of) if isinstance(cell, str) else str(cell(of))
    except KeyError:
        return "—" if of.get("status", "ok") == "ok" else str(of["status"])


def median(name: str) -> Callable[[Record], str]:
    """A cell with the median of a measurement, whose parts are separated by dots."""
    return lambda of: number(reduce(getitem, name.split("."), of)["median"])


def number(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def times(ratio: Record) -> str:
    low, median, high = (f"{ratio[key]:.3g}" for key in ("low", "median", "high"))
    return f"{median}×" if low == high else f"{median}×, {low}–{high}"


def read(folder: Path = RESULTS) -> dict[str, Any]:
    """The stored results by the name of their benchmark."""
    return {
        path.stem: content
        for path in sorted(folder.glob("*.json"))
        if "measurements" in (content := json.loads(path.read_text("utf-8")))
    }


def tables(folder: Path = RESULTS) -> dict[str, str]:
    """The Markdown of every table whose results are stored."""
    results = read(folder)
    made = {
        name: make(results[source]["measurements"])
        for name, (source, make) in TABLES.items()
        if source in results
    }
    return made | {"machine": machine(results)}


def machine(results: Mapping[str, Any]) -> str:
    """How the numbers were made: a line per benchmark."""
    lines = []
    for result in (results[name] for name in MACHINE if name in results):
        used = ", ".join(f"{library} {of}" for library, of in result["versions"].items())
        lines.append("- `{command}` on {cpu}, {threads} threads; ".format_map(result) + f"{used}.")
    return "\n".join(lines)


# --- training ------------------------------------------------------------------------------------


def epoch(datasets: Records) -> str:
    """Seconds per epoch; the others also as multiples of ours, with the quartiles of the rounds."""
    peers = PEERS | {"dense": "graphgate's dense products alone"}
    return _by_peer("seconds per epoch", peers, datasets, _epoch_cell)


def memory(datasets: Records) -> str:
    """MiB above the imported libraries, with the data and three epochs."""
    return _by_peer("peak memory, MiB", PEERS, datasets, _memory_cell)


def _by_peer(
    title: str,
    peers: Mapping[str, str],
    datasets: Records,
    cell: Callable[[Record, str], str],
) -> str:
    rows = [[name, *(cell(of, peer) for of in datasets)] for peer, name in peers.items()]
    heads = [title, *(TITLES[of["dataset"]] for of in datasets)]
    return markdown(heads, [row for row in rows if any(row[1:])])


def _epoch_cell(of: Record, peer: str) -> str:
    if peer not in of["epoch_seconds"]:
        return str(of["status"].get(peer, ""))
    seconds = number(of["epoch_seconds"][peer]["median"])
    ratio = of["ratios"].get("ours/dense" if peer == "dense" else f"{peer}/ours")
    whose = "graphgate " if peer == "dense" else ""
    return seconds if ratio is None else f"{seconds} ({whose}{times(ratio)})"


def _memory_cell(of: Record, peer: str) -> str:
    peak = of["peak_memory_mb"].get(peer)
    return str(of["status"].get(peer, "")) if peak is None else f"{peak:,.0f}"


def growth(sizes: Records) -> str:
    """One row per size, and how time and memory grow with the number of nodes."""
    columns: dict[str, Cell] = {"nodes": "{nodes:,}", "edges": "{edges:,}"}
    columns |= {"seconds per epoch": median("epoch_seconds")}
    columns |= {"peak memory, MiB": "{peak_memory_mb:,.0f}"}
    if not (powers := exponents(sizes)):
        return table(columns, sizes)
    return (
        f"{table(columns, sizes)}\n\nTime grows as nodes to the power {powers['seconds']:.2f}, "
        f"memory as nodes to the power {powers['memory']:.2f}."
    )


def exponents(sizes: Records) -> dict[str, float]:
    """p of value ~ nodesᵖ, for time and memory, by least squares on logarithms."""
    done = [size for size in sizes if size["status"] == "ok"]
    if len({size["nodes"] for size in done}) < 2:
        return {}
    values = {
        "seconds": [size["epoch_seconds"]["median"] for size in done],
        "memory": [size["peak_memory_mb"] for size in done],
    }
    nodes = np.log([size["nodes"] for size in done])
    return {name: float(np.polyfit(nodes, np.log(of), 1)[0]) for name, of in values.items()}


def layouts(measured: Records) -> str:
    """Seconds of all runs in either layout and in the one that the runner chose."""
    (of,) = measured
    threads = of["chosen"]["threads"]
    chosen = f"{of['chosen']['processes']} × {threads} thread{'s' if threads > 1 else ''}"
    columns: dict[str, Cell] = {
        "one after the other, on all cores": median("seconds.threads"),
        "processes of one thread each": median("seconds.processes"),
        f"what the runner chose ({chosen})": median("seconds.chosen"),
        "chosen, against the better of the two": lambda of: times(of["ratios"]["chosen/better"]),
    }
    heads = [f"{of['runs']} runs on {TITLES[of['dataset']]}", "seconds"]
    return markdown(heads, [[title, _text(cell, of)] for title, cell in columns.items()])


def estimate(runs: Records) -> str:
    """Estimated and measured memory: medians, and quartiles of the ratio."""
    rows = [
        [
            f"{run['nodes']:,}",
            run["case"],
            *_estimated(run["peak_memory_mb"]),
        ]
        for run in runs
    ]
    return markdown(["nodes", "case", "peak, MiB: estimated", "measured", "error"], rows)


def _estimated(of: Record) -> list[str]:
    off, low, high = (f"{of['ratio'][name] - 1:+.0%}" for name in ("median", "low", "high"))
    return [number(of["estimated"]), number(of["measured"]), f"{off} ({low} to {high})"]


# --- files, commands, the page -------------------------------------------------------------------


def reading(measured: Records) -> str:
    """Time and memory of reading a large graph, against an epoch and against the data."""
    (of,) = measured
    epoch, peak = of["epoch_seconds"]["median"], of["peak_memory_mb"]
    title = f"{of['nodes']:,} nodes, {of['edges']:,} edges, {of['columns']} attributes"
    rows = [
        ["seconds", number(of["seconds"]), f"{of['seconds'] / epoch:.2f} epochs"],
        ["peak memory, MiB", f"{peak:,.0f}", f"{peak / of['data_mb']:.2f} times the data"],
    ]
    return markdown([title, "read, checked, encoded", "that is"], rows)


def commands(measured: Records) -> str:
    shown, transform = measured
    graph = TITLES.get(transform["graph"], "a synthetic graph")
    vectors = f"`transform` of {transform['few']} nodes ({graph}, {transform['nodes']:,} nodes)"
    rows = [
        ["`graphgate --help`", number(shown["seconds"]["help"]["median"])],
        ["`python -c pass`", number(shown["seconds"]["python"]["median"])],
        ["the help, against that Python", times(shown["ratio"])],
        [vectors, number(transform["seconds"]["few"]["median"])],
        ["`transform` of all of them", number(transform["seconds"]["whole"]["median"])],
        ["all, against the few", times(transform["ratio"])],
    ]
    return markdown(["", "seconds"], rows)


def explorer(pages: Records) -> str:
    """The page of every graph: its size, when it is drawn first, and how it follows the pointer."""
    columns: dict[str, Cell] = {
        "graph": lambda page: TITLES.get(page["graph"], "synthetic"),
        "nodes": "{nodes:,}",
        "edges": "{edges:,}",
        "page, MB": "{page_megabytes:.1f}",
        "first drawing, s": median("seconds_to_first_drawing"),
        "can be moved, s": median("seconds_until_it_moves"),
        "frames per second, panning": median("frames_a_second_panning"),
        "if every one is redrawn": median("frames_a_second_if_all_are_drawn_anew"),
    }
    return table(columns, pages)


# --- quality -------------------------------------------------------------------------------------


def linear(graphs: Records) -> str:
    """Seconds of LinearGATE, and its time as a fraction of GATE's and a multiple of an SVD's."""
    columns: dict[str, Cell] = {
        "graph": "{graph}",
        "nodes": "{nodes:,}",
        "edges": "{edges:,}",
        "seconds": median("seconds.linear"),
        "of GATE's time": lambda of: f"1/{1 / of['ratios']['linear/gate']['median']:.0f}",
        "of a truncated SVD's": lambda of: times(of["ratios"]["linear/svd"]),
    }
    return table(columns, graphs)


def fits(measured: Records) -> str:
    """Seconds of a fit, and the peak of its process in GiB; projected ones are marked."""
    cells = {(of["method"], of["graph"]): _text(_fit_cell, of) for of in measured}
    graphs = list(dict.fromkeys(of["graph"] for of in measured))
    rows = [
        [find_row(method).title, *(cells.get((method, graph), "—") for graph in graphs)]
        for method in QUALITY
        if any((method, graph) in cells for graph in graphs)
    ]
    return markdown(["seconds (GiB)", *graphs], rows)


def _fit_cell(of: Record) -> str:
    seconds, about = of["seconds"], "≈ " if of["projected"] else ""
    shown = f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
    return f"{about}{shown} ({of['peak_memory_mb'] / 1024:.1f})"


def gate_defaults(measured: Records) -> str:
    """GATE in our own form beside the reference implementation's settings, means over seeds."""
    seconds = {of["graph"]: of for of in measured if of.get("measured") == "seconds"}
    rows, values = [], []
    for graph, cost in seconds.items():
        runs = [of for of in measured if of["graph"] == graph and "splits" in of]
        own, authors = (
            [of["val_accuracy"] for of in runs if of["settings"] == name]
            for name in ("own", "authors")
        )
        (splits,) = {of["splits"] for of in runs}  # else the means are not comparable
        ratio = cost["own"]["median"] / cost["authors"]["median"]
        values.append((mean(own), mean(authors), ratio))
        rows.append([graph, len(own), splits, *_differences(*values[-1])])
    rows.append(["mean", "", "", *_differences(*map(mean, zip(*values, strict=True)))])
    heads = ["graph", "seeds", "splits", "our own form", '`preset="authors"`', "difference"]
    return markdown([*heads, "fraction of its time"], rows)


def _differences(own: float, authors: float, ratio: float) -> list[str]:
    return [f"{own:.1f}", f"{authors:.1f}", f"{own - authors:+.1f}", f"{ratio:.2f}"]


def cluster_number(kinds: Records) -> str:
    """One row per kind of graph, and how many runs are right."""
    columns: dict[str, Cell] = {
        "graph": "{kind}",
        "nodes": "{nodes:,}",
        "blocks": lambda of: _clusters(of["blocks"]),
        f"found, {len(kinds[0]['clusters'])} seeds": lambda of: ", ".join(
            map(_clusters, of["clusters"])
        ),
    }
    right = [
        abs(found - of["blocks"]) <= 1 if of["blocks"] > 1 else found == 1
        for of in kinds
        for found in of["clusters"]
    ]
    lines = table(columns, kinds).splitlines()
    lines[1] = "| --- | ---: | ---: | --- |"
    truth = "Within one of the truth, or none where there are none"
    return "\n".join([*lines, "", f"{truth}: {sum(right)} of {len(right)} runs."])


def _clusters(number: int) -> str:
    return "none" if number == 1 else str(number)


# --- large graphs --------------------------------------------------------------------------------


def large(measured: Records) -> str:
    columns: dict[str, Cell] = {
        "nodes": "{nodes:,}",
        "edges": "{edges:,}",
        "method": _mode,
        "memory limit": lambda run: run["memory_limit"] or "—",
        "processes": "{processes}",
        "seconds": "{seconds:.0f}",
        "peak": lambda run: f"{run['peak_memory_mb'] / 1024:.2f} GiB",
        "NMI": lambda run: f"{100 * run['nmi']:.1f}",
    }
    return table(columns, [run for run in measured if run["mode"] != "columns"])


def _mode(run: Record) -> str:
    """What was asked for, in words."""
    if run["mode"] != "parts":
        return {"linear": "linear", "exact": "gate, whole graph"}[run["mode"]]
    count = run.get("parts_per_step", 1)
    return "gate, by parts" if count == 1 else f"gate, by {count} parts per step"


def processes(measured: Records) -> str:
    """Runs by two processes beside the same ones by one."""
    runs = [run for run in measured if run["mode"] != "columns"]
    pairs = [
        together | {"alone": run["seconds"], "ratio": together["seconds"] / run["seconds"]}
        for together in runs
        for run in runs
        if (run["processes"], together["processes"]) == (1, 2)
        and all(run[name] == together[name] for name in ("nodes", "memory_limit"))
        and _mode(run) == _mode(together)
    ]
    columns: dict[str, Cell] = {
        "nodes": "{nodes:,}",
        "method": _mode,
        "one process": "{alone:.0f} s",
        "two processes": "{seconds:.0f} s",
        "ratio": "{ratio:.2f}",
        "of it communicating": lambda run: f"{run['communicating_seconds']:.1f} s",
    }
    return table(columns, pairs)


def columns(measured: Records) -> str:
    columns: dict[str, Cell] = {
        "coordinates, at 100,000 nodes": "{coordinates}",
        "probe accuracy": lambda of: f"{mean(of['accuracy']):.2f} ± {stdev(of['accuracy']):.2f}",
        "NMI of k-means": lambda of: f"{mean(of['nmi']):.2f} ± {stdev(of['nmi']):.2f}",
    }
    return table(columns, [of for of in measured if of["mode"] == "columns"])


def parts(fits: Records) -> str:
    """One row per graph and form, with means over the seeds."""
    groups: dict[Any, Records] = {}
    for fit in fits:
        groups.setdefault((fit["graph"], fit["form"], fit.get("nodes")), []).append(fit)

    def average(name: str, form: str) -> Cell:
        return lambda same: format(mean(of[name] for of in same["fits"]), form)

    columns: dict[str, Cell] = {
        "graph": "{graph}",
        "nodes": "{nodes:,}",
        "trained on": lambda of: "the whole" if of["form"] == "whole" else "parts",
        "seeds": lambda of: len(of["fits"]),
        "CPU seconds": average("cpu_seconds", ".0f"),
        "peak": lambda of: f"{max(f['peak_memory_mb'] for f in of['fits']) / 1024:.2f} GiB",
        "feature loss², per node": average("feature_square_per_node", ".4g"),
        "structure loss, per pair": average("structure_per_pair", ".4g"),
        "loss / that of the whole": lambda of: _relative_loss(of["fits"], fits),
        "accuracy, validation / test": lambda of: " / ".join(
            f"{mean(f['accuracy'][split] for f in of['fits']):.1f}" for split in ("val", "test")
        ),
    }
    return table(columns, [same[0] | {"fits": same} for same in groups.values()])


def _relative_loss(same: Records, fits: Records) -> str:
    """The loss beside that of the whole graph, or of a smaller one of its kind.

    Losses per node and per pair are then those of as many nodes and pairs.
    """
    whole = [fit for fit in fits if (fit["graph"], fit["form"]) == (same[0]["graph"], "whole")]
    if not whole or whole[0] is same[0]:
        return "—"

    def feature(fit: Record) -> float:
        return float((whole[0]["nodes"] * fit["feature_square_per_node"]) ** 0.5)

    pairs = (whole[0]["loss"] - feature(whole[0])) / whole[0]["structure_per_pair"]
    losses = [feature(fit) + pairs * fit["structure_per_pair"] for fit in same]
    return f"{mean(losses) / mean(fit['loss'] for fit in whole):.3f}"


def two_hosts(methods: Records) -> str:
    columns: dict[str, Cell] = {
        "method": "{method}",
        "seconds": "{seconds:.0f}",
        "sent by each host": lambda of: " and ".join(
            f"{sent / 2**20:.0f} MiB" for sent in of["bytes_sent"]
        ),
        "difference from one process": lambda of: (
            f"{of['difference']:.1g}" if of["difference"] else "none"
        ),
    }
    return table(columns, methods)


def resources(measured: Records) -> str:
    """Of larger graphs on several hosts, from a run with a million nodes and no options."""
    alone = {"mode": "linear", "nodes": 1_000_000, "processes": 1, "memory_limit": None}
    (million,) = (run for run in measured if alone.items() <= run.items())
    heads = ["nodes / edges", "hosts", "linear: time", "memory of a host", "sent by a host"]
    heads += ["GATE by parts: sent", "exact GATE: sent per epoch"]
    return markdown(heads, hosts.rows(million))


# --- stores and services -------------------------------------------------------------------------


def store_add(measured: Records) -> str:
    columns: dict[str, Cell] = {
        "method": lambda of: TITLES[of["method"]],
        "stored nodes": "{nodes:,}",
        "seconds per batch": "{seconds[median]:.1f}",
        "of a processor": "{cpu_seconds[median]:.1f}",
        "vectors updated": "{updated[median]:,.0f}",
        "cosine of new nodes": "{new[5 %]:.6f}, at least {new[smallest]:.6f}",
        "of all after ten batches": (
            "{after ten batches[all][5 %]:.6f}, at least {after ten batches[all][smallest]:.6f}"
        ),
        "difference after refresh": "{largest difference after refresh:.1g}",
    }
    return table(columns, [of for of in measured if of["part"] == "add"])


def store_days(measured: Records) -> str:
    columns: dict[str, Cell] = {
        "graph": lambda of: TITLES[of["graph"]],
        "store": "{store:.1f}",
        "model of everything": "{everything:.1f}",
        "old probe before": "{old probe[before]:.1f}",
        "and after the refit": "{old probe[after]:.1f}",
    }
    return table(columns, [of for of in measured if of["part"] == "days"])


def store_checks(measured: Records) -> str:
    checks = {
        "kills": (
            "{kills} kills during `add` and `refit`",
            "{before} times the version before, {after} times the one after, never anything else; "
            "the batch could be added again every time",
        ),
        "recall": (
            "ten nearest of {nodes:,} vectors of size {size}, by the index",
            "{recall:.1%} of them found; {build_cpu_seconds:.0f} s of a processor to build the "
            "index",
        ),
    }
    parts = {of["part"]: of for of in measured}
    rows = [
        [text.format_map(parts[part]) for text in texts]
        for part, texts in checks.items()
        if part in parts
    ]
    return markdown(["checked", "result"], rows)


def service(measured: Records) -> str:
    load, odd = measured
    failed = sum(n for status, n in odd["statuses"].items() if status.startswith("5"))
    rows = [
        [
            "{nodes:,} nodes, {components} columns, top {top}, {connections} connections for "
            "{seconds} s".format_map(load),
            "{requests_per_second:,.0f} requests per second, 99 % of them within "
            "{latency_ms[p99]:.0f} ms".format_map(load),
        ],
        [
            f"{odd['requests']:,} malformed requests",
            f"{failed} server errors; memory {100 * odd['growth']:+.1f} % after the first tenth",
        ],
    ]
    return markdown(["measured", "result"], rows)


def faults(kinds: Records) -> str:
    """What kills left behind, by kind of work."""
    columns: dict[str, Cell] = {
        "killed": "{kind}",
        "kills": "{kills:,}",
        "differing bits after resuming": "{differing_bits:,}",
        "half-written files": "{half_written:,}",
        "hidden files after the kill": "{left_by_kill:,}",
        "and after resuming": "{left_after:,}",
    }
    return table(columns, kinds)


def link_methods(measured: Records) -> str:
    """Hits@100 among random pairs and MRR among hard ones, and seconds of processor time."""
    runs = {(m["graph"], m["method"], m["negatives"]): m for m in measured}
    graphs, methods = (list(dict.fromkeys(m[key] for m in measured)) for key in ("graph", "method"))

    def cell(graph: str, method: str, negatives: str, metric: str) -> str:
        if (graph, method, negatives) not in runs:
            return "—"
        values = runs[graph, method, negatives][metric]
        return with_std(mean(values), stdev(values) if len(values) > 1 else None)

    rows = []
    for method in sorted(methods, key="linear".__eq__):
        row = [TITLES.get(method, method)]
        for graph in graphs:
            row += [
                cell(graph, method, "random", "hits@100"),
                cell(graph, method, "heart", "mrr"),
                f"{runs[graph, method, 'random']['seconds']:.1f}"
                if (graph, method, "random") in runs
                else "—",
            ]
        rows.append(row)
    heads = [f"{TITLES[g]} {what}" for g in graphs for what in ("Hits@100", "MRR, hard", "s")]
    return markdown(["method", *heads], rows)


def shop(measured: Records) -> str:
    """hit@10 and recall@20, means and standard deviations over seeds, and seconds."""
    rows = []
    for run in measured:
        values = [with_std(mean(run[m]), stdev(run[m])) for m in ("hit@10", "recall@20")]
        rows.append([TITLES.get(run["method"], run["method"]), *values, f"{run['seconds']:.1f}"])
    return markdown(["method", "hit@10", "recall@20", "seconds"], rows)


def calibration(measured: Records) -> str:
    """How often pairs are edges, by the probability that they have."""
    runs = [m for m in measured if "bins" in m]
    rows = []
    for at in range(10):
        row = [f"{at / 10:.1f} to {(at + 1) / 10:.1f}"]
        for run in runs:
            inside = [b for b in run["bins"] if at <= 10 * b["mean"] < at + 1]
            row += [f"{b['mean']:.2f} → {b['edges']:.2f} ({b['pairs']:,})" for b in inside] or ["—"]
        rows.append(row)
    rows.append(["expected calibration error", *(f"{r['calibration_error']:.3f}" for r in runs)])
    return markdown(["probability", *(TITLES[run["graph"]] for run in runs)], rows)


_OWN_NAME = (
    *(epoch, growth, layouts, estimate, reading, commands, explorer, linear, fits),
    *(cluster_number, large, parts, two_hosts, service, faults),
)
# Table -> the benchmark whose measurements it shows, and what makes it.
# --- weights chosen from the graph ---------------------------------------------------------------

_SIMPLE = ("raw", "smoothing-2", "smoothing-16")


def source_weights(measurements: Records) -> str:
    """Accuracy, NMI and AUC of fixed and of chosen weights, and the best of simple vectors."""
    rows, gains = [], []
    for name in dict.fromkeys(each["graph"] for each in measurements if "graph" in each):
        of = {each["vectors"]: each for each in measurements if each.get("graph") == name}
        if not {"fixed", "chosen"} <= of.keys():
            continue
        fixed, chosen = of["fixed"], of["chosen"]
        gain = np.subtract(chosen["accuracy"], fixed["accuracy"])
        simple = [of[kind] for kind in _SIMPLE if kind in of]
        gains.append((float(gain.mean()), mean(chosen["nmi"]) - mean(fixed["nmi"])))
        rows.append(
            [
                TITLES.get(name, name),
                f"{chosen['weights']['own']:.2f}",
                f"{mean(chosen['accuracy']):.1f}",
                f"{gain.mean():+.2f} ± {stdev(gain) / len(gain) ** 0.5:.2f}",
                f"{max(mean(each['accuracy']) for each in simple):.1f}" if simple else "–",
                f"{mean(chosen['nmi']):.1f}",
                f"{gains[-1][1]:+.1f}",
                f"{max(mean(each['nmi']) for each in simple):.1f}" if simple else "–",
                f"{mean(chosen['auc']) - mean(fixed['auc']):+.1f}",
            ]
        )
    accuracy, nmi = (f"{mean(values):+.2f}" for values in zip(*gains, strict=True))
    rows.append(["mean", "", "", accuracy, "", "", nmi, "", ""])
    heads = ["graph", "own weight", "accuracy", "to fixed", "best simple", "NMI", "to fixed"]
    return markdown([*heads, "best simple", "AUC to fixed"], rows)


def planted_weights(measurements: Records) -> str:
    """NMI on graphs with planted groups, by fixed and by chosen weights."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for each in measurements:
        if "planted" in each:
            edges = {None: "", True: "carry groups", False: "random"}[each.get("edges")]
            informative = str(each.get("informative", ""))
            subject = (each["planted"], each.get("kind", ""), edges, informative)
            found.setdefault(subject, {})[each["vectors"]] = mean(each["nmi"])
    rows = [
        [*subject, *(f"{of[kind]:.1f}" if kind in of else "–" for kind in ("fixed", "chosen"))]
        for subject, of in found.items()
    ]
    return markdown(["graph", "kind", "edges", "informative columns", "fixed", "chosen"], rows)


TABLES: dict[str, tuple[str, Callable[[Records], str]]] = {
    **{make.__name__: (make.__name__, make) for make in _OWN_NAME},
    "memory": ("epoch", memory),
    "link_methods": ("links", link_methods),
    "shop": ("shop", shop),
    "calibration": ("links", calibration),
    "defaults": ("gate_defaults", gate_defaults),
    "processes": ("large", processes),
    "columns": ("large", columns),
    "hosts": ("large", resources),
    "store_add": ("store", store_add),
    "store_days": ("store", store_days),
    "store_checks": ("store", store_checks),
    "source_weights": ("source_weights", source_weights),
    "planted_weights": ("source_weights", planted_weights),
}
