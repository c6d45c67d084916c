"""Label-free diagnostics of a fit."""

from dataclasses import dataclass, field, replace
from html import escape

from graphgate.errors import printable
from graphgate.linear.coordinates import MATRIX
from graphgate.linear.edge_decoder import TERMS, EdgeDecoder
from graphgate.linear.evidence import Prediction
from graphgate.linear.model import LinearModel
from graphgate.linear.weights import SIGNIFICANT

LITTLE = 0.001  # R² below which edges say next to nothing about features
UNSUPPORTED = 0.1  # weight of a source below which it is named
EDGES_TELL = 0.6  # AUC of hidden edges from which on edges predict edges
_NAMED = 5  # sources, in a sentence
_LISTED = 30  # sources, in the table
_WIDEST = 40  # characters of a name in the table


@dataclass(frozen=True)
class SourceReport:
    """What predicts one source of features, as R² on hidden nodes; None where not significant.

    weight : relative to a source that is fully supported.
    own : from other sources, and the other half of a matrix.
    neighbors : from the mean of the neighbors.
    structure : from structure factors.
    """

    weight: float
    own: float | None
    neighbors: float | None
    structure: float | None


@dataclass(frozen=True)
class LinearReport:
    """Label-free diagnostics of a fit.

    n_coordinates : r, the number of columns in which features were represented.
    r2 : the fraction of hidden features that the neighborhood of a node predicts; None where
        features were computed from the edges.
    strength : the strength of the ridge penalty that was chosen.
    edge_auc : how well hidden edges are distinguished from other pairs of nodes; None where there
        were too few edges to hide, or too few other pairs.
    edge_weights : the weight of each term of the structure decoder.
    structure_rank : number of structure factors, 0 where they are not used.
    weights : of the views, by name.
    sources : of the features, by name; none where weights were not chosen from the graph.
    structure_r2 : of structure factors, from all sources; None where there are none, or it is not
        significant.
    alignment : the correlation of nodes with the mean of their neighbors; None where there are no
        edges, or they say nothing about the features.
    """

    n_coordinates: int
    r2: float | None
    strength: float
    edge_auc: float | None
    edge_weights: dict[str, float]
    structure_rank: int
    weights: dict[str, float]
    sources: dict[str, SourceReport] = field(default_factory=dict)
    structure_r2: float | None = None
    alignment: float | None = None

    @property
    def edges_add_little(self) -> bool:
        return self.r2 is not None and self.r2 < LITTLE

    @property
    def edges_tell(self) -> bool:
        """Whether hidden edges are found."""
        return self.edge_auc is not None and self.edge_auc >= EDGES_TELL

    @property
    def unsupported(self) -> list[str]:
        """The names of sources that nothing else in the data supports, and that count little."""
        return [name for name, source in self.sources.items() if source.weight < UNSUPPORTED]

    def sentences(self) -> list[str]:
        """The report in words."""
        if self.r2 is None:
            sentences = ["Nodes are described by their edges alone."]
        else:
            sentences = [
                f"The neighborhood of a node predicts {max(0.0, 100 * self.r2):.1f} % of its "
                f"hidden features (R², ridge strength {self.strength:.3g})."
            ]
        if self.edge_auc is None:
            sentences.append(
                "There are too few edges, or too few pairs without one, to hide some edges and see "
                "how well they are found."
            )
        else:
            sentences.append(f"Hidden edges are found with an AUC of {100 * self.edge_auc:.1f} %.")
        return sentences + self._unusual()

    def _unusual(self) -> list[str]:
        sentences = []
        unsupported = self.unsupported
        if unsupported:
            names = ", ".join(repr(name) for name in unsupported[:_NAMED])
            more = len(unsupported) - _NAMED
            names += f" and {more:,} more" if more > 0 else ""
            what, counts, them = f"{names}, so they", "count", "them"
            if unsupported == [MATRIX]:
                what = "the features, so they"
            elif len(unsupported) == 1:
                what, counts, them = f"{names}, so it", "counts", "it"
            sentences.append(
                f"Nothing else in the data supports {what} {counts} little; weights= brings {them} "
                "back."
            )
            if len(unsupported) == len(self.sources):
                sentences.append(
                    "Vectors describe the edges."
                    if self.edges_tell
                    else "The edges do not predict each other either, so vectors may be of little "
                    "use."
                )
                return sentences
        if self.alignment is not None and self.alignment < 0:
            sentences.append(
                "Edges join unlike nodes: the features of neighbors differ more than those of "
                "random nodes, so a node's own features count more."
            )
        if self.edges_add_little and self.edges_tell:
            sentences.append(
                "The edges say next to nothing about the features, but predict each other: the two "
                "describe different things."
            )
        elif self.edges_add_little:
            sentences.append(
                "The edges say next to nothing about the features: vectors of the features alone "
                "may serve you as well or better, so compare both on your task."
            )
        return sentences

    def table(self) -> str:
        """Sources and views with their weights, and what predicts each source, as text."""
        rows = self._rows()
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = (
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        head, *rows = self._rows()
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        return f"<table><tr>{cells}</tr>{body}</table>{words}"

    def _rows(self) -> list[tuple[str, ...]]:
        def percent(r2: float | None) -> str:
            return "–" if r2 is None else f"{100 * r2:.1f} %"

        rows: list[tuple[str, ...]]
        rows = [("source or view", "weight", "from own", "from neighbors", "from structure")]
        for name, s in list(self.sources.items())[:_LISTED]:
            r2s = (percent(r2) for r2 in (s.own, s.neighbors, s.structure))
            rows.append((printable(name, _WIDEST), f"{s.weight:.2f}", *r2s))
        if (more := len(self.sources) - _LISTED) > 0:
            rows.append((f"and {more:,} more", "", "", "", ""))
        for name, weight in self.weights.items():
            predicted = name == "factors" and bool(self.sources)
            from_features = percent(self.structure_r2) if predicted else ""
            rows.append((f"({name})", f"{weight:.2f}", from_features, "", ""))
        return rows


def report_on(
    model: LinearModel, decoder: EdgeDecoder | None, *, described: bool = True
) -> LinearReport:
    """described : whether nodes have more than edges."""
    weights = {} if decoder is None else dict(zip(TERMS, decoder.weights.tolist(), strict=True))
    report = LinearReport(
        len(model.coordinates.center),
        model.reconstruction.r2 if described else None,
        model.reconstruction.strength,
        None if decoder is None else decoder.auc,
        weights,
        0 if model.structure is None else model.structure.rank,
        dict(model.weights),
    )
    evidence = model.evidence
    if evidence is None:
        return report
    sources = {
        source.name: SourceReport(
            source.weight, *map(_significant, (seen.own, seen.neighbors, seen.structure))
        )
        for source, seen in zip(model.coordinates.sources, evidence.sources, strict=True)
    }
    related = any(source.neighbors is not None for source in sources.values())
    return replace(
        report,
        sources=sources,
        structure_r2=_significant(evidence.structure),
        alignment=evidence.alignment([s.weight for s in sources.values()]) if related else None,
    )


def _significant(prediction: Prediction) -> float | None:
    return prediction.r2 if prediction.z > SIGNIFICANT[0] and prediction.r2 > 0 else None
