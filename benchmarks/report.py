"""The tables of the benchmarks, from what is stored in results/benchmarks and from nothing else.

`scripts/render_tables.py` puts them into README.md and docs/.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks import hosts
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


def markdown(heads: Iterable[str], rows: Iterable[Iterable[Any]], align: str = "---:") -> str:
    """A table whose columns are aligned to the right, but for the first one."""
    heads = list(heads)
    rule = ["---", *[align] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in [heads, rule, *rows])


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
        name: table(results[source]["measurements"])
        for name, (source, table) in TABLES.items()
        if source in results
    }
    return made | {"machine": machine(results)}


def machine(results: Mapping[str, Any]) -> str:
    """How the numbers were made: a line per benchmark."""
    lines = []
    for name in MACHINE:
        if result := results.get(name):
            used = ", ".join(f"{library} {of}" for library, of in result["versions"].items())
            where = f"{result['cpu']}, {result['threads']} threads; {used}"
            lines.append(f"- `{result['command']}` on {where}.")
    return "\n".join(lines)


# --- training ------------------------------------------------------------------------------------


def epoch(datasets: Records) -> str:
    """Seconds per epoch; the others also as multiples of ours, with the quartiles of the rounds."""
    return _by_peer("seconds per epoch", datasets, _epoch_cell, dense=True)


def memory(datasets: Records) -> str:
    """MiB above the imported libraries, with the data and three epochs."""
    return _by_peer("peak memory, MiB", datasets, _memory_cell)


def _by_peer(
    title: str, datasets: Records, cell: Callable[[Record, str], str], *, dense: bool = False
) -> str:
    titles = PEERS | ({"dense": "graphgate's dense products alone"} if dense else {})
    rows = [[titles[peer], *(cell(of, peer) for of in datasets)] for peer in titles]
    return markdown(
        [title, *(TITLES[of["dataset"]] for of in datasets)], [row for row in rows if any(row[1:])]
    )


def _epoch_cell(of: Record, peer: str) -> str:
    seconds = of["epoch_seconds"].get(peer)
    if seconds is None:
        return str(of["status"].get(peer, ""))
    ratio = of["ratios"].get("ours/dense" if peer == "dense" else f"{peer}/ours")
    told = "" if ratio is None else times(ratio)
    told = f"graphgate {told}" if told and peer == "dense" else told
    return number(seconds["median"]) + (f" ({told})" if told else "")


def _memory_cell(of: Record, peer: str) -> str:
    peak = of["peak_memory_mb"].get(peer)
    return str(of["status"].get(peer, "")) if peak is None else f"{peak:,.0f}"


def growth(sizes: Records) -> str:
    rows = []
    for size in sizes:
        cells = [size["status"], ""]
        if size["status"] == "ok":
            cells = [number(size["epoch_seconds"]["median"]), f"{size['peak_memory_mb']:,.0f}"]
        rows.append([f"{size['nodes']:,}", f"{size['edges']:,}" if "edges" in size else "", *cells])
    table = markdown(["nodes", "edges", "seconds per epoch", "peak memory, MiB"], rows)
    if not (powers := exponents(sizes)):
        return table
    return (
        f"{table}\n\nTime grows as nodes to the power {powers['seconds']:.2f}, "
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
    titles = {
        "threads": "one after the other, on all cores",
        "processes": "processes of one thread each",
        "chosen": f"what the runner chose ({chosen})",
    }
    rows = [[title, number(of["seconds"][name]["median"])] for name, title in titles.items()]
    rows.append(["chosen, against the better of the two", times(of["ratios"]["chosen/better"])])
    return markdown([f"{of['runs']} runs on {TITLES[of['dataset']]}", "seconds"], rows)


def estimate(runs: Records) -> str:
    """Estimated and measured: medians, and quartiles of the ratio."""
    rows = []
    for run in runs:
        cells = [f"{run['nodes']:,}", run["case"]]
        for what in ("peak_memory_mb", "seconds"):
            estimated, seen, ratio = (run[what][key] for key in ("estimated", "measured", "ratio"))
            off = [f"{ratio[name] - 1:+.0%}" for name in ("median", "low", "high")]
            cells += [number(estimated), number(seen), f"{off[0]} ({off[1]} to {off[2]})"]
        rows.append(cells)
    heads = ["nodes", "case", "peak, MiB: estimated", "measured", "error"]
    seconds = f"s of {runs[0]['epochs']} epochs: estimated"
    return markdown([*heads, seconds, "measured", "error"], rows)


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
    told, transform = measured
    graph = TITLES.get(transform["graph"], "a synthetic graph")
    vectors = f"`transform` of {transform['few']} nodes ({graph}, {transform['nodes']:,} nodes)"
    rows = [
        ["`graphgate --help`", number(told["seconds"]["help"]["median"])],
        ["`python -c pass`", number(told["seconds"]["python"]["median"])],
        ["the help, against that Python", times(told["ratio"])],
        [vectors, number(transform["seconds"]["few"]["median"])],
        ["`transform` of all of them", number(transform["seconds"]["whole"]["median"])],
        ["all, against the few", times(transform["ratio"])],
    ]
    return markdown(["", "seconds"], rows)


def explorer(pages: Records) -> str:
    """The page of every graph: its size, when it is drawn first, and how it follows the pointer."""
    measures = ("seconds_to_first_drawing", "seconds_until_it_moves", "frames_a_second_panning")
    heads = ["graph", "nodes", "edges", "page, MB", "first drawing, s", "can be moved, s"]
    return markdown(
        [*heads, "frames per second, panning", "if every one is redrawn"],
        [
            [
                TITLES.get(page["graph"], "synthetic"),
                f"{page['nodes']:,}",
                f"{page['edges']:,}",
                f"{page['page_megabytes']:.1f}",
                *(
                    number(page[measure]["median"])
                    for measure in (*measures, "frames_a_second_if_all_are_drawn_anew")
                ),
            ]
            for page in pages
        ],
    )


# --- quality -------------------------------------------------------------------------------------


def linear(graphs: Records) -> str:
    """Seconds of LinearGATE, and its time as a fraction of GATE's and a multiple of an SVD's."""
    rows = [
        [
            of["graph"],
            f"{of['nodes']:,}",
            f"{of['edges']:,}",
            number(of["seconds"]["linear"]["median"]),
            f"1/{1 / of['ratios']['linear/gate']['median']:.0f}",
            times(of["ratios"]["linear/svd"]) if "linear/svd" in of["ratios"] else "—",
        ]
        for of in graphs
    ]
    heads = ["graph", "nodes", "edges", "seconds", "of GATE's time", "of a truncated SVD's"]
    return markdown(heads, rows)


def fits(measured: Records) -> str:
    """Seconds of a fit, and the peak of its process in GiB; projected ones are marked."""
    cells = {(of["method"], of["graph"]): _fit_cell(of) for of in measured}
    graphs = list(dict.fromkeys(of["graph"] for of in measured))
    rows = [
        [find_row(method).title, *(cells.get((method, graph), "—") for graph in graphs)]
        for method in QUALITY
        if any((method, graph) in cells for graph in graphs)
    ]
    return markdown(["seconds (GiB)", *graphs], rows)


def _fit_cell(of: Record) -> str:
    if of["status"] != "ok":
        return str(of["status"])
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
    rows, right = [], []
    for of in kinds:
        blocks, chosen = of["blocks"], of["clusters"]
        right += [abs(k - blocks) <= 1 if blocks > 1 else k == 1 for k in chosen]
        clusters = ", ".join("none" if k == 1 else str(k) for k in chosen)
        blocks = "none" if blocks == 1 else blocks
        rows.append([of["kind"], f"{of['nodes']:,}", blocks, clusters])
    heads = f"| graph | nodes | blocks | found, {len(chosen)} seeds |\n| --- | ---: | ---: | --- |"
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    truth = "Within one of the truth, or none where there are none"
    return "\n".join([heads, *lines, "", f"{truth}: {sum(right)} of {len(right)} runs."])


# --- large graphs --------------------------------------------------------------------------------


def large(measured: Records) -> str:
    heads = ["nodes", "edges", "method", "memory limit", "processes", "seconds", "peak", "NMI"]
    return markdown(
        heads,
        [
            [
                f"{run['nodes']:,}",
                f"{run['edges']:,}",
                _mode(run),
                run["memory_limit"] or "—",
                run["processes"],
                f"{run['seconds']:.0f}",
                f"{run['peak_memory_mb'] / 1024:.2f} GiB",
                f"{100 * run['nmi']:.1f}",
            ]
            for run in measured
            if run["mode"] != "columns"
        ],
    )


def _mode(run: Record) -> str:
    """What was asked for, in words."""
    if run["mode"] != "parts":
        return {"linear": "linear", "exact": "gate, whole graph"}[run["mode"]]
    count = run.get("parts_per_step", 1)
    return "gate, by parts" if count == 1 else f"gate, by {count} parts per step"


def processes(measured: Records) -> str:
    """Runs by two processes beside the same ones by one."""
    runs = [run for run in measured if run["mode"] != "columns"]
    asked = {id(run): (run["nodes"], _mode(run), run["memory_limit"]) for run in runs}
    alone = {asked[id(run)]: run["seconds"] for run in runs if run["processes"] == 1}
    rows = [
        [
            f"{run['nodes']:,}",
            _mode(run),
            f"{alone[asked[id(run)]]:.0f} s",
            f"{run['seconds']:.0f} s",
            f"{run['seconds'] / alone[asked[id(run)]]:.2f}",
            f"{spent:.1f} s" if (spent := run.get("communicating_seconds")) is not None else "—",
        ]
        for run in runs
        if run["processes"] > 1 and asked[id(run)] in alone
    ]
    heads = ["nodes", "method", "one process", "two processes", "ratio", "of it communicating"]
    return markdown(heads, rows)


def columns(measured: Records) -> str:
    rows = [
        [
            of["coordinates"],
            *(f"{mean(of[name]):.2f} ± {stdev(of[name]):.2f}" for name in ("accuracy", "nmi")),
        ]
        for of in measured
        if of["mode"] == "columns"
    ]
    return markdown(["coordinates, at 100,000 nodes", "probe accuracy", "NMI of k-means"], rows)


def parts(fits: Records) -> str:
    """One row per graph and form, with means over the seeds."""
    groups: dict[Any, Records] = {}
    for fit in fits:
        groups.setdefault((fit["graph"], fit["form"], fit.get("nodes")), []).append(fit)
    heads = ["graph", "nodes", "trained on", "seeds", "CPU seconds", "peak"]
    heads += ["feature loss², per node", "structure loss, per pair", "loss / that of the whole"]
    heads += ["accuracy, validation / test"]
    return markdown(heads, [_parts_row(group, fits) for group in groups.values()])


def _parts_row(same: Records, fits: Records) -> list[str]:
    fit = same[0]
    nodes = f"{fit['nodes']:,}" if "nodes" in fit else "—"
    form = "the whole" if fit["form"] == "whole" else "parts"
    cells = [fit["graph"], nodes, form, str(len(same))]
    if fit["status"] != "ok":
        return [*cells, fit["status"], *["—"] * 5]
    scores = [
        f"{mean(of['accuracy'][split] for of in same):.1f}"
        for split in ("val", "test")
        if "accuracy" in fit
    ]
    return [
        *cells,
        f"{mean(of['cpu_seconds'] for of in same):.0f}",
        f"{max(of['peak_memory_mb'] for of in same) / 1024:.2f} GiB",
        f"{mean(of['feature_square_per_node'] for of in same):.4g}",
        f"{mean(of['structure_per_pair'] for of in same):.4g}",
        _relative_loss(same, fits),
        " / ".join(scores) or "—",
    ]


def _relative_loss(same: Records, fits: Records) -> str:
    """The loss beside that of the whole graph, or of a smaller one of its kind.

    Losses per node and per pair are then those of as many nodes and pairs.
    """
    whole = [
        fit
        for fit in fits
        if (fit["graph"], fit["form"], fit["status"]) == (same[0]["graph"], "whole", "ok")
    ]
    if not whole or whole[0] is same[0]:
        return "—"

    def feature(fit: Record) -> float:
        return float((whole[0]["nodes"] * fit["feature_square_per_node"]) ** 0.5)

    pairs = (whole[0]["loss"] - feature(whole[0])) / whole[0]["structure_per_pair"]
    losses = [feature(fit) + pairs * fit["structure_per_pair"] for fit in same]
    return f"{mean(losses) / mean(fit['loss'] for fit in whole):.3f}"


def two_hosts(methods: Records) -> str:
    heads = ["method", "seconds", "sent by each host", "difference from one process"]
    return markdown(
        heads,
        [
            [
                of["method"],
                f"{of['seconds']:.0f}",
                " and ".join(f"{sent / 2**20:.0f} MiB" for sent in of["bytes_sent"]),
                f"{of['difference']:.1g}" if of["difference"] else "none",
            ]
            for of in methods
        ],
    )


def resources(measured: Records) -> str:
    """Of larger graphs on several hosts, from a run with a million nodes and no options."""
    alone = {"mode": "linear", "nodes": 1_000_000, "processes": 1, "memory_limit": None}
    (million,) = (run for run in measured if alone.items() <= run.items())
    heads = ["nodes / edges", "hosts", "linear: time", "memory of a host", "sent by a host"]
    heads += ["GATE by parts: sent", "exact GATE: sent per epoch"]
    return markdown(heads, hosts.rows(million))


# --- stores and services -------------------------------------------------------------------------


def store_add(measured: Records) -> str:
    heads = [
        *("method", "stored nodes", "seconds per batch", "of a processor", "vectors updated"),
        *("cosine of new nodes", "of all after ten batches", "difference after refresh"),
    ]
    rows = [
        [
            TITLES[of["method"]],
            f"{of['nodes']:,}",
            f"{of['seconds']['median']:.1f}",
            f"{of['cpu_seconds']['median']:.1f}",
            f"{of['updated']['median']:,.0f}",
            *(
                f"{near['5 %']:.6f}, at least {near['smallest']:.6f}"
                for near in (of["new"], of["after ten batches"]["all"])
            ),
            f"{of['largest difference after refresh']:.1g}",
        ]
        for of in measured
        if of["part"] == "add"
    ]
    return markdown(heads, rows)


def store_days(measured: Records) -> str:
    heads = ["graph", "store", "model of everything", "old probe before", "and after the refit"]
    rows = [
        [
            TITLES[of["graph"]],
            *(f"{of[name]:.1f}" for name in ("store", "everything")),
            *(f"{of['old probe'][name]:.1f}" for name in ("before", "after")),
        ]
        for of in measured
        if of["part"] == "days"
    ]
    return markdown(heads, rows)


def store_checks(measured: Records) -> str:
    parts = {of["part"]: of for of in measured}
    rows = []
    if kills := parts.get("kills"):
        outcome = f"{kills['before']} times the version before, {kills['after']} times the one "
        outcome += "after, never anything else; the batch could be added again every time"
        rows.append([f"{kills['kills']} kills during `add` and `refit`", outcome])
    if of := parts.get("recall"):
        vectors = f"ten nearest of {of['nodes']:,} vectors of size {of['size']}, by the index"
        seconds = f"{of['build_cpu_seconds']:.0f} s of a processor to build the index"
        rows.append([vectors, f"{of['recall']:.1%} of them found; {seconds}"])
    return markdown(["checked", "result"], rows)


def service(measured: Records) -> str:
    load, odd = measured
    failed = sum(n for status, n in odd["statuses"].items() if status.startswith("5"))
    rows = [
        [
            f"{load['nodes']:,} nodes, {load['components']} columns, top {load['top']}, "
            f"{load['connections']} connections for {load['seconds']} s",
            f"{load['requests_per_second']:,.0f} requests per second, 99 % of them within "
            f"{load['latency_ms']['p99']:.0f} ms",
        ],
        [
            f"{odd['requests']:,} malformed requests",
            f"{failed} server errors; memory {100 * odd['growth']:+.1f} % after the first tenth",
        ],
    ]
    return markdown(["measured", "result"], rows)


def faults(kinds: Records) -> str:
    """What kills left behind, by kind of work."""
    names = ["kills", "differing_bits", "half_written", "left_by_kill", "left_after"]
    rows = [[of["kind"], *(f"{of[name]:,}" for name in names)] for of in kinds]
    heads = ["killed", "kills", "differing bits after resuming", "half-written files"]
    return markdown([*heads, "hidden files after the kill", "and after resuming"], rows)


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
    **{table.__name__: (table.__name__, table) for table in (epoch, growth, layouts, estimate)},
    **{table.__name__: (table.__name__, table) for table in (reading, commands, explorer, linear)},
    **{table.__name__: (table.__name__, table) for table in (fits, cluster_number, large, parts)},
    **{table.__name__: (table.__name__, table) for table in (two_hosts, service, faults)},
    "memory": ("epoch", memory),
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
