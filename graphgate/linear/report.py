"""Label-free diagnostics of a fit."""

from dataclasses import dataclass

from graphgate.linear.edge_decoder import TERMS, EdgeDecoder
from graphgate.linear.model import LinearModel

LITTLE = 0.001  # R² below which edges say next to nothing about features


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
        if self.edges_add_little:
            sentences.append(
                "The edges say next to nothing about the features: vectors of the features alone "
                "may serve you as well or better, so compare both on your task."
            )
        return sentences


def report_on(
    model: LinearModel, decoder: EdgeDecoder | None, *, described: bool = True
) -> LinearReport:
    """described : whether nodes have more than edges."""
    weights = {} if decoder is None else dict(zip(TERMS, decoder.weights.tolist(), strict=True))
    return LinearReport(
        len(model.coordinates.center),
        model.reconstruction.r2 if described else None,
        model.reconstruction.strength,
        None if decoder is None else decoder.auc,
        weights,
        0 if model.structure is None else model.structure.rank,
    )
