"""Maps of an embedding in the plane: nodes colored by class, edges by attention."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import Embedding, as_embedding
from graphgate.tasks.classification import encode_labels
from graphgate.tasks.edge_attention import EdgeAttention

# One palette for figures and pages, visible on light and dark backgrounds. The first six are those
# of Okabe & Ito; the others were chosen far from them, also for color-blind readers.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#924545"),
    *("#B82F8C", "#88C49C", "#747460", "#7B5FD3", "#2C7A2C", "#C9A0F0", "#38C460"),
    *("#4C6A8C", "#D98880", "#249CC4", "#A88A3A", "#8A2BB0", "#F26CA0"),
)
UNLABELLED = "#A3A9B0"  # also of categories that are too rare for a color of their own
RAMP = (  # viridis without its ends, which vanish on dark and on light backgrounds
    *("#3A548C", "#31668E", "#2A778E", "#24878E", "#1F978B", "#22A785", "#35B779", "#54C568"),
    "#7AD151",
)
BETWEEN_CLASSES = "#4A4F57"
_THINNEST, _THICKEST = 0.15, 1.8


def plot_embedding(
    embedding: Any,
    labels: Any = None,
    *,
    ax: Axes | None = None,
    title: str = "",
    random_state: int | None = 0,
) -> Axes:
    """Plot the t-SNE projection of an embedding, colored by label.

    Parameters
    ----------
    embedding : an `Embedding`, or an (N, D) array.
    labels : N labels, None where a node has none, or a mapping of ids to labels; the default is
        the labels of the embedding.
    ax : matplotlib axes to draw into; the default is a new figure.
    random_state : seed of the projection.

    Examples
    --------
    >>> axes = plot_embedding(np.eye(3), ["a", "a", "b"], title="Three nodes")
    >>> axes.get_title()  # axes.figure.savefig("map.png") writes it
    'Three nodes'
    """
    codes, classes = encode_labels(embedding, labels)
    points = project(as_embedding(embedding).vectors, random_state)
    return draw_nodes(points, codes, classes, ax=ax, title=title)


def project(vectors: np.ndarray, random_state: int | None = 0) -> np.ndarray:
    """t-SNE of up to 50 principal components, (N, D) -> (N, 2)."""
    n, d = vectors.shape
    wide = np.pad(vectors, ((0, 0), (0, max(0, 2 - d))))  # at least two columns
    if n < 4:
        return wide[:, :2]
    if (wide == wide[0]).all():  # without variance t-SNE would divide by zero
        return np.zeros((n, 2), dtype=wide.dtype)
    reduced = PCA(min(50, *wide.shape), random_state=random_state).fit_transform(wide)
    tsne = TSNE(perplexity=min(30.0, (n - 1) / 3), init="pca", random_state=random_state)
    return tsne.fit_transform(reduced)


def vectors_of(graph: Graph, embedding: Any) -> np.ndarray:
    """The (N, D) vectors of a graph's nodes, checked against the graph."""
    vectors = as_embedding(embedding)
    ids, z = vectors.ids, vectors.vectors
    if len(z) != graph.n_nodes:
        raise InputError(f"the embedding has {len(z):,} vectors for {graph.n_nodes:,} nodes")
    if isinstance(embedding, Embedding) and list(map(str, ids)) != list(map(str, graph.ids)):
        raise InputError("the ids of the embedding must be those of the graph, in the same order")
    if not np.isfinite(z).all():
        raise InputError("the embedding has values that are not finite; train it again")
    return z


def colored_codes(codes: np.ndarray, n_categories: int) -> list[int]:
    """The categories that have a color of their own, in the order of `COLORS`.

    These are all if there are enough colors, else the most frequent.
    """
    if n_categories <= len(COLORS):
        return [*range(n_categories)]
    counts = np.bincount(codes[codes >= 0], minlength=n_categories)
    return np.argsort(-counts, kind="stable")[: len(COLORS)].tolist()


def new_axes(height: float, title: str) -> Axes:
    """Axes of a new figure as wide as a page."""
    axes = Figure(figsize=(7.2, height), dpi=150, layout="constrained").subplots()
    if title:
        axes.set_title(title, fontsize=10)
    return axes


def draw_nodes(
    points: np.ndarray,
    codes: np.ndarray | None = None,
    classes: Sequence[Any] = (),
    *,
    ax: Axes | None = None,
    title: str = "",
) -> Axes:
    """Draw (N, 2) points, colored by their positions in `classes`, -1 where there is none."""
    axes = new_axes(4.4, title) if ax is None else ax
    codes = np.full(len(points), -1) if codes is None else codes
    size = float(np.clip(12_000 / len(points), 1.5, 30))
    colored = colored_codes(codes, len(classes))
    named = [(_spelled(classes[code]), codes == code) for code in colored]
    rare = (codes >= 0) & ~np.isin(codes, colored)
    groups = [("no label", codes < 0), ("other", rare), *named]
    for (name, members), color in zip(groups, (UNLABELLED, UNLABELLED, *COLORS), strict=False):
        if members.any():
            x, y = points[members].T
            axes.scatter(x, y, s=size, c=color, linewidths=0, label=name)
    _finish(axes, classes, None)
    return axes


def draw_edges(
    points: np.ndarray,
    attention: EdgeAttention,
    codes: np.ndarray | None = None,
    classes: Sequence[Any] = (),
    *,
    title: str = "",
) -> Axes:
    """Draw the edges between (N, 2) points: width by attention, color by a shared class."""
    axes = new_axes(4.4, title)
    codes = np.full(len(points), -1) if codes is None else codes
    ends, raw = codes[attention.edges], attention.raw
    shared = np.where(ends[:, 0] == ends[:, 1], ends[:, 0], -1)
    # Edges between classes first, so that they hide no class; then thin before thick.
    order = np.lexsort((raw, shared >= 0))
    colors = dict(zip(colored_codes(codes, len(classes)), COLORS, strict=False))
    shades = {-1: BETWEEN_CLASSES} | colors
    lines = LineCollection(
        list(points[attention.edges[order]]),
        colors=[shades.get(code, UNLABELLED) for code in shared[order].tolist()],
        linewidths=_widths(raw)[order],
        alpha=float(np.clip(25 / np.sqrt(len(raw) + 1), 0.12, 0.55)),  # many hide nothing either
        capstyle="round",
        rasterized=True,
    )
    axes.add_collection(lines)
    axes.autoscale()
    handles = [
        Line2D([], [], color=color, label=_spelled(classes[code])) for code, color in colors.items()
    ]
    handles.append(Line2D([], [], color=BETWEEN_CLASSES, label="different classes"))
    _finish(axes, classes, handles)
    return axes


def _finish(axes: Axes, classes: Sequence[Any], handles: list[Line2D] | None) -> None:
    axes.set_axis_off()
    axes.margins(0.02)  # the axes of t-SNE have no unit
    if len(classes):
        given: dict[str, Any] = {"handles": handles} if handles else {}
        legend = axes.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, **given
        )
        for handle in legend.legend_handles:
            if isinstance(handle, PathCollection):
                handle.set_sizes([24])


def _spelled(name: Any) -> str:
    return str(name).replace("_", " ")


def _widths(values: np.ndarray) -> np.ndarray:
    """Line widths proportional to attention, from the thinnest to the thickest."""
    if len(values) == 0 or np.ptp(values) == 0:
        return np.full(len(values), (_THINNEST + _THICKEST) / 2)
    return np.interp(values, (values.min(), values.max()), (_THINNEST, _THICKEST))
