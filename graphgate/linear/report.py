"""Label-free diagnostics of a fit."""

from dataclasses import dataclass
from html import escape

from graphgate.linear.edge_decoder import TERMS, EdgeDecoder
from graphgate.linear.evidence import Evidence, Prediction
from graphgate.linear.model import LinearModel
from graphgate.linear.weights import SIGNIFICANT

LITTLE = 0.001  # R² below which edges say next to nothing about features
UNSUPPORTED = 0.1  # weight of a source below which it is named
EDGES_TELL = 0.6  # AUC of hidden edges from which on edges predict edges
_NAMED = 5  # sources


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
    """

    n_coordinates: int
    r2: float | None
    strength: float
    edge_auc: float | None
    edge_weights: dict[str, float]
    structure_rank: int

    @property
    def edges_add_little(self) -> bool:
        return self.r2 is not None and self.r2 < LITTLE

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
        if not self.edges_add_little:
            return []
        return [
            "The edges say next to nothing about the features: vectors of the features alone "
            "may serve you as well or better, so compare both on your task."
        ]


@dataclass(frozen=True)
class WeightsReport(LinearReport):
    """The report where weights were chosen from the graph.

    weights : of the views, by name.
    sources : of the features, by name.
    structure_r2 : of structure factors, from all sources; None where there are none, or it is not
        significant.
    alignment : the correlation of nodes with the mean of their neighbors; None where there are no
        edges, or they say nothing about the features.
    """

    weights: dict[str, float]
    sources: dict[str, SourceReport]
    structure_r2: float | None
    alignment: float | None

    @property
    def unsupported(self) -> list[str]:
        """The names of sources that nothing else in the data supports, and that count little."""
        return [name for name, source in self.sources.items() if source.weight < UNSUPPORTED]

    @property
    def edges_tell(self) -> bool:
        """Whether hidden edges are found."""
        return self.edge_auc is not None and self.edge_auc >= EDGES_TELL

    def table(self) -> str:
        """Sources and views with their weights, and what predicts each source, as text."""
        rows = [tuple(map(str, row)) for row in self._rows()]
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
        for name, s in self.sources.items():
            r2s = (percent(r2) for r2 in (s.own, s.neighbors, s.structure))
            rows.append((name, f"{s.weight:.2f}", *r2s))
        for name, weight in self.weights.items():
            from_features = percent(self.structure_r2) if name == "factors" else ""
            rows.append((f"({name})", f"{weight:.2f}", from_features, "", ""))
        return rows

    def _unusual(self) -> list[str]:
        unsupported = self.unsupported
        if unsupported and len(unsupported) == len(self.sources):
            if self.edges_tell:
                return [
                    "Neither the edges nor other columns support the features, so vectors describe "
                    "the edges."
                ]
            return [
                "Nothing in the data supports anything else: neither the edges nor other columns "
                "support the features, and the edges do not predict each other, so vectors may be "
                "of little use."
            ]
        sentences = []
        if unsupported:
            names = ", ".join(repr(name) for name in unsupported[:_NAMED])
            more = len(unsupported) - _NAMED
            names += f" and {more:,} more" if more > 0 else ""
            sentences.append(
                f"Nothing else in the data supports {names}, so they count little; give them a "
                "weight in weights= if they matter to you."
            )
        if self.alignment is not None and self.alignment < 0:
            sentences.append(
                "Edges join unlike nodes: the features of neighbors differ more than those of "
                "random nodes, so a node's own features count more."
            )
        if self.edges_add_little and self.edges_tell:
            return [
                *sentences,
                "The edges say next to nothing about the features, but predict each other: the two "
                "describe different things.",
            ]
        return sentences + super()._unusual()


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
    )
    return report if model.evidence is None else _with_weights(report, model, model.evidence)


def _with_weights(report: LinearReport, model: LinearModel, evidence: Evidence) -> WeightsReport:
    def significant(prediction: Prediction) -> float | None:
        return prediction.r2 if prediction.z > SIGNIFICANT[0] and prediction.r2 > 0 else None

    sources = {
        source.name: SourceReport(
            source.weight, *map(significant, (found.own, found.neighbors, found.structure))
        )
        for source, found in zip(model.coordinates.sources, evidence.sources, strict=True)
    }
    related = any(source.neighbors is not None for source in sources.values())
    weights = [source.weight for source in sources.values()]
    return WeightsReport(
        **vars(report),
        weights=dict(model.weights),
        sources=sources,
        structure_r2=significant(evidence.structure),
        alignment=evidence.alignment(weights) if related else None,
    )
