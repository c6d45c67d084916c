"""LinearGATE against GATE and against a truncated SVD of the features alone.

    python -m benchmarks linear --graphs FOLDER --json results/benchmarks/linear.json

The three take turns: `LinearGATE().fit`, its report included, one epoch of
`GATE(preset="authors", dims=(512, 512))` (a fit has 200 of them, and its set-up), and
scikit-learn's `TruncatedSVD(512, n_iter=5)` where there are more than 512 features.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.decomposition import TruncatedSVD

from benchmarks.inputs import DIMS, graph_names, load, loss_of
from benchmarks.peers import make_peer
from benchmarks.runner import Measurements, ratio_spread, seconds_in_turn, spreads
from graphgate import LinearGATE

EPOCHS = 200  # of a fit of GATE


def measure(graphs: str = "", names: tuple[str, ...] = (), repeats: int = 3) -> Measurements:
    for name in graph_names(names, graphs):
        yield {"graph": name}, partial(compare, name, graphs, repeats)


def compare(name: str, folder: str, repeats: int) -> dict[str, Any]:
    graph = load(name, folder=folder).reveal()
    turns: dict[str, Callable[[], object]] = {
        "linear": lambda: LinearGATE(random_state=0).fit(graph),
        "epoch": make_peer("ours", graph, DIMS, loss_of("")).epoch,
    }
    if graph.n_features > 512:
        turns["svd"] = lambda: TruncatedSVD(512, n_iter=5, random_state=0).fit_transform(graph.x)
    seconds = seconds_in_turn(turns, repeats)
    gate = [EPOCHS * value for value in seconds["epoch"]]
    ratios = {"linear/gate": ratio_spread(seconds["linear"], gate)}
    if "svd" in seconds:
        ratios["linear/svd"] = ratio_spread(seconds["linear"], seconds["svd"])
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "seconds": spreads(seconds),
        "ratios": ratios,
    }
