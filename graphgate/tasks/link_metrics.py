"""Metrics of link prediction: how held-out edges rank among pairs without an edge."""

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

HITS = (10, 50, 100)
METRICS = {
    **{f"hits@{k}": f"Hits@{k}" for k in HITS},
    "mrr": "MRR",
    "auc": "AUC",
    "ap": "AP",
}  # titles by name


def link_quality(edges: np.ndarray, non_edges: np.ndarray) -> dict[str, float | None]:
    """`METRICS` of scores of edges against those of non-edges, in percent.

    Parameters
    ----------
    edges : (M,)
    non_edges : (K,), with which all edges are compared; or (M, K), a row for each edge. NaN is
        left out.

    Hits@k is the fraction of edges that score above the k-th best non-edge; None where there are
    fewer than k. MRR is the mean of 1 / rank, and non-edges with the same score count half. AUC and
    AP (average precision) compare all edges with all non-edges.
    """
    others = non_edges[~np.isnan(non_edges)]
    if not (len(edges) and len(others)):
        return dict.fromkeys(METRICS)
    above, equal = _better(edges, non_edges)
    few = len(others) if non_edges.ndim == 1 else int((~np.isnan(non_edges)).sum(axis=1).min())
    truth = np.repeat([1, 0], [len(edges), len(others)])
    scores = np.concatenate([edges, others])
    values = {f"hits@{k}": np.mean(above + equal < k) if k <= few else None for k in HITS} | {
        "mrr": np.mean(1 / (1 + above + equal / 2)),
        "auc": roc_auc_score(truth, scores),
        "ap": average_precision_score(truth, scores),
    }
    return {
        name: None if value is None else round(100 * float(value), 4)
        for name, value in values.items()
    }


def _better(edges: np.ndarray, non_edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(M,) how many non-edges score above each edge, and how many score the same."""
    if non_edges.ndim == 2:
        return (non_edges > edges[:, None]).sum(axis=1), (non_edges == edges[:, None]).sum(axis=1)
    ordered = np.sort(non_edges[~np.isnan(non_edges)])
    low, high = (np.searchsorted(ordered, edges, side) for side in ("left", "right"))
    return len(ordered) - high, high - low
