"""LinearGATE, the linear graph auto-encoder, solved in closed form, as a scikit-learn estimator."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from graphgate.compute.columns import Columns
from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.errors import InputError, UnknownNodesWarning
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.embedder import Embedder, Prepared
from graphgate.estimators.equal_vectors import warn_of_equal_vectors
from graphgate.estimators.fitted import Summary
from graphgate.estimators.linear_fit import LinearFit, ScoredGraph
from graphgate.estimators.recommendations import (
    Recommendations,
    candidate_rows,
    reasons_of,
)
from graphgate.graph.edges import edge_pairs
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.linear.attribution import SimilarityParts, similarity_parts
from graphgate.linear.coordinates import (
    MATRIX,
    FeatureSource,
    sources_of_groups,
    sources_of_rules,
)
from graphgate.linear.edge_decoder import FEWEST, EdgeDecoder
from graphgate.linear.linear_plan import LinearPlan
from graphgate.linear.link_proposals import propose_links
from graphgate.linear.model import VIEWS, LinearModel, States, WeightOptions
from graphgate.linear.recommendation import Recommender
from graphgate.linear.report import LinearReport, report_on
from graphgate.linear.solution import solution_of
from graphgate.linear.weights import MOST_SOURCES
from graphgate.preprocessing.structural import structural_attributes


class LinearGATE(Embedder):
    """Linear graph auto-encoder, solved exactly in a few seconds.

    Learns one vector per node, without labels, from features and edges, and embeds nodes that it
    has not seen. The features of every node are reconstructed from its neighborhood alone; the
    weights that do so best are the solution of a linear system, so nothing is trained. The vector
    of a node joins its own features, its reconstruction, its neighborhood at two depths, and its
    place in the graph. Everything that is chosen is chosen from the graph itself.

    Parameters
    ----------
    n_components : D, the dimension of the embedding; smaller where there are fewer columns or
        nodes to reduce.
    structure : whether vectors contain the place of a node in this graph. It distinguishes nodes
        with equal features, but new nodes have a place only if they are neighbors of nodes given
        to `fit`; switch it off to embed other graphs.
    weights : of views and of columns of attributes. "auto" chooses them from the graph, without
        labels: each counts as much as the rest of the data supports it. A mapping gives some by
        name, `{"own": 2, "age": 1}`, and the others are chosen as with "auto". None uses the same
        weights of views for all graphs, and features as one matrix. The views are "own", "context",
        "shallow", "deep" and "factors", see `model_.weights`; a column counts 1 where it is fully
        supported. The name of features given as a matrix is "x".
    groups : name or number of the group of each feature, (F,), where features are given as a
        matrix: each group is weighed by itself, as a column of attributes is. Only where weights
        are chosen.
    scale : whether numbers among attributes are standardized; features are used as they are.
    random_state : random seed of masks and projections, an int, a NumPy RandomState or None.
    dtype : precision, "float32" or "float64".
    memory_limit : how much memory the process may take in all, in bytes or as text such as "2GiB".
        Where that is not enough for everything at once, columns are computed a few at a time, and
        kept in a temporary file. By default, what takes more than 1 GiB is kept in a file.
    scratch : new folder for intermediate results, from which an interrupted `fit` resumes; it is
        removed at the end.
    progress : show a progress bar (on terminals only).

    Attributes
    ----------
    embedding_ : (N, D), the embedding of the graph given to `fit`.
    report_ : `LinearReport`, what the graph tells about itself.
    model_ : `LinearModel`, all that was learned.
    decoder_ : `EdgeDecoder`; None where there are too few edges.
    seed_ : the random seed that was used.
    notes_ : anything else to save with the model, as plain JSON.
    n_features_in_ : F.
    encoder_ : the `AttributeEncoder` of the graph's attributes; None where features were given.
    fitted_on_ : what kind of graph `fit` was given; others are refused.

    Examples
    --------
    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    >>> LinearGATE(n_components=2, random_state=0).fit(graph).embedding_.shape
    (4, 2)
    """

    fit_: LinearFit
    _graph: Graph | None = None

    def __init__(
        self,
        n_components: int = 128,
        *,
        structure: bool = True,
        weights: Mapping[str, float] | str | None = arguments.AUTO,
        groups: Any = None,
        scale: bool = True,
        random_state: int | np.random.RandomState | None = None,
        dtype: str = "float32",
        memory_limit: int | str | None = None,
        scratch: str | Path | None = None,
        progress: bool = True,
    ) -> None:
        self.n_components = n_components
        self.structure = structure
        self.weights = weights
        self.groups = groups
        self.scale = scale
        self.random_state = random_state
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.scratch = scratch
        self.progress = progress

    @torch.no_grad()
    def _learn(self, prepared: Prepared, seed: int) -> tuple[LinearFit, np.ndarray, dict[str, Any]]:
        graph, encoder = prepared.graph, prepared.encoder
        options = self._weight_options(prepared)

        def features(part: Graph) -> Features:
            """Of the nodes of a graph that has features, or had them before edges were hidden."""
            if encoder is None or prepared.kind.content != "edges":
                return part.x
            return encoder.transform(structural_attributes(part.adjacency, part.ids))

        solution = solution_of(
            graph,
            prepared.plan,
            seed,
            features,
            options,
            processes=prepared.processes,
            scratch=None if self.scratch is None else Path(self.scratch),
            show_progress=self.progress,
        )
        self._graph = graph
        used = {
            "weights": None if self.weights is None else dict(options.given) or arguments.AUTO,
            "groups": arguments.groups(self.groups, graph.n_features),
        }
        return LinearFit(solution.model, solution.decoder), solution.embedding.numpy(), used

    def __getstate__(self) -> dict[str, Any]:
        """A pickled or copied estimator holds no graph, like a loaded one."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_graph"}

    @torch.no_grad()
    def transform(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """The embedding of a graph, which may have nodes never seen in `fit`, (N, D).

        Give the nodes to embed together with their neighborhood: what is more than two steps away
        counts little. `nodes` (ids or a mask) selects rows, in that order.
        """
        graph = self._encoded(self._checked_graph(X, adjacency))
        rows = None if nodes is None else graph.rows(nodes)
        z = self.model_.embed(self._states(graph, rows)).numpy()
        if rows is None:
            warn_of_equal_vectors(z, graph)
            return self._with_ids(z, X)
        return self._with_ids(z[rows], X, rows)

    @torch.no_grad()
    def _encode(self, graph: Graph) -> ScoredGraph:
        return ScoredGraph(self.model_, self.decoder_, self._states(graph, step=True), graph)

    @torch.no_grad()
    def score_edges(self, pairs: Any, graph: Graph | None = None) -> np.ndarray:
        """The probability of an edge between two nodes, for (M, 2) pairs of node ids, (M,).

        Pairs are of ids, never of row numbers, also where ids are integers; `graph.ids[rows]` are
        the ids of rows. An id that the graph does not have is an `UnknownNodesError`.

        It is calibrated on hidden edges and random pairs, which count the same, so 0.5 means as
        likely an edge as not where half of the pairs are edges. Direction makes no difference.

        graph : the graph that the nodes are in; the default is the one given to `fit`.
        """
        decoder, graph = self._decoder(), self._known_graph(graph)
        rows = edge_pairs(pairs, graph.ids)
        return decoder.probabilities(self._states(graph, rows, step=True), rows)

    @torch.no_grad()
    def predict_links(self, graph: Graph | None = None, n: int = 100) -> tuple[np.ndarray, Any]:
        """The likeliest edges that a graph does not have.

        Not all pairs of nodes are compared: each node only with those that are near it, and with
        the nodes of highest degree.

        Parameters
        ----------
        graph : the default is the graph given to `fit`.
        n : number of edges to propose.

        Returns (M, 2) pairs of node ids, likeliest first, and (M,) their probabilities, as in
        `score_edges`. M is less than `n` only if fewer pairs without an edge were compared.
        """
        n = arguments.integer("n", n)
        decoder, graph = self._decoder(), self._known_graph(graph)
        states = self._states(graph, step=True)
        rows, scores = propose_links(decoder, states, graph.adjacency, n, self.seed_)
        return graph.ids[rows], scores

    @torch.no_grad()
    def recommend(
        self,
        nodes: Any,
        among: Any = None,
        n: int = 10,
        *,
        graph: Graph | None = None,
        why: bool = False,
    ) -> Recommendations:
        """The likeliest new neighbors of nodes; those that are neighbors already are left out.

        Of many candidates only those are scored that can be likely: what is near in the graph or in
        the groups that suit the node, and nodes of high degree.

        Parameters
        ----------
        nodes : one id, a list of ids, or a mask.
        among : the nodes that may be recommended: ids, a mask, or a mapping such as
            `{"kind": "product"}` from a column of categories to a value. The default is all nodes.
        n : number of recommendations for each node; fewer where there are not as many candidates.
        graph : the graph that the nodes are in; the default is the one given to `fit`.
        why : whether to give reasons.

        Examples
        --------
        >>> from graphgate import load_dataset
        >>> cora = load_dataset("cora").graph
        >>> gate = LinearGATE(random_state=0).fit(cora)
        >>> len(gate.recommend(cora.ids[:2], n=3))
        6
        """
        decoder, graph = self._decoder(), self._known_graph(graph)
        n = arguments.integer("n", n)
        listed = isinstance(nodes, (list, tuple, set, np.ndarray))
        rows = graph.rows(list(nodes) if isinstance(nodes, set) else nodes if listed else [nodes])
        states = self._states(graph, rows, step=True)
        recommender = Recommender(
            decoder, states, graph.adjacency, candidate_rows(graph, among), self.seed_
        )
        best = recommender.best(rows, n)
        counts = [len(others) for others, _ in best]
        queries, others = np.repeat(rows, counts), np.concatenate([each for each, _ in best])
        pairs = np.stack([queries, others], axis=1)
        return Recommendations(
            graph.ids[queries],
            graph.ids[others],
            np.concatenate([scores for _, scores in best]),
            reasons_of(decoder, states, graph, pairs) if why else None,
        )

    @torch.no_grad()
    def explain_similarity(
        self, node: Any, others: Sequence[Any], graph: Graph | None = None
    ) -> list[SimilarityParts]:
        """What the cosine of a node with each of some others is made of, by view and source.

        Parameters
        ----------
        node, others : ids.
        graph : the graph that the nodes are in; the default is the one given to `fit`.

        Examples
        --------
        >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)])
        >>> gate = LinearGATE(n_components=2, random_state=0).fit(graph)
        >>> (parts,) = gate.explain_similarity(0, [1])
        >>> round(sum(parts.views.values()) - parts.cosine, 5) == 0
        True
        """
        graph = self._known_graph(graph)
        row, *rows = graph.rows([node, *others]).tolist()
        return similarity_parts(self.model_, graph, row, rows)

    @torch.no_grad()
    def pair_scores(self, pairs: np.ndarray) -> np.ndarray:
        """How likely an edge is, (M,), for (M, 2) rows of the graph given to `fit`.

        The probability by `score_edges`, or the inner product of the two vectors where there were
        too few edges to learn it.
        """
        if self.decoder_ is None:
            return super().pair_scores(pairs)
        states = self._states(self._known_graph(None), pairs, step=True)
        return self.decoder_.probabilities(states, pairs)

    @property
    def report_(self) -> LinearReport:
        described = self.fitted_on_.content != "edges"
        return report_on(self.model_, self.decoder_, described=described)

    @property
    def model_(self) -> LinearModel:
        return self.fit_.model

    @property
    def decoder_(self) -> EdgeDecoder | None:
        return self.fit_.decoder

    def summary(self) -> Summary:
        """What the fit reports about itself."""
        return Summary(report=self.report_)

    def refitted(self, graph: Graph, n_components: int) -> Self:
        """Fitted on another graph, with vectors of this size."""
        return clone(self).set_params(n_components=n_components).fit(graph)

    def _decoder(self) -> EdgeDecoder:
        check_is_fitted(self)
        if self.decoder_ is None:
            raise InputError(
                "the graph given to fit had too few edges, or too few pairs without one, to learn "
                f"how likely an edge is; at least {10 * FEWEST} edges are needed",
                about="edges",
            )
        return self.decoder_

    def _weight_options(self, prepared: Prepared) -> WeightOptions:
        """What weights are chosen from; features that were computed from edges are no evidence."""
        graph, content, places = prepared.graph, prepared.kind.content, None
        if self.groups is not None and (self.weights is None or content != "features"):
            raise InputError(
                "groups= is for features given as a matrix, with weights='auto' or some by name; "
                "columns of attributes are weighed one by one without it"
            )
        if self.weights is None:
            return WeightOptions()
        sources: list[FeatureSource] = []
        if content == "attributes" and prepared.encoder is not None:
            sources = sources_of_rules(prepared.encoder.rules_)
        if content == "features" or len(sources) > MOST_SOURCES:
            sources = [FeatureSource(MATRIX, graph.n_features)]
        if (groups := arguments.groups(self.groups, graph.n_features)) is not None:
            sources, places = sources_of_groups(groups)
        placed = prepared.plan.structure and graph.n_edges > 0
        views = [v.name for v in VIEWS.values() if placed or v.source != "structure"]
        given = arguments.weights(self.weights, [*views, *(source.name for source in sources)])
        return WeightOptions(sources, places, given, chosen=content != "edges")

    def _known_graph(self, graph: Graph | None) -> Graph:
        if graph is not None:
            return self._encoded(self._checked_graph(graph))
        if self._graph is None:
            raise InputError("a loaded model holds no graph; pass the graph that the nodes are in")
        return self._graph

    def plan(
        self, counts: GraphCounts, available: int | None = None, n_processes: int = 1
    ) -> LinearPlan:
        """How a graph of this size is solved, in what is available beside the graph."""
        return LinearPlan.of(
            counts,
            arguments.integer("n_components", self.n_components),
            structure=arguments.boolean("structure", self.structure),
            dtype=arguments.dtype(self.dtype),
            weighed=self.weights is not None,
            available=available,
        )

    def _states(
        self, graph: Graph, asked: np.ndarray | None = None, *, step: bool = False
    ) -> States:
        """The states of all nodes; warns of those asked for, by row, that have no place."""
        structure = self.model_.structure
        asked = np.arange(graph.n_nodes) if asked is None else np.unique(asked)
        placeless = 0 if structure is None else int(structure.without_place(graph)[asked].sum())
        if placeless:
            warnings.warn(
                f"{placeless:,} of {len(asked):,} nodes have no neighbor that the model knows, "
                "so their vectors do not contain their place in the graph; use structure=False to "
                "embed other graphs",
                UnknownNodesWarning,
                stacklevel=3,
            )
        _, available = self.planned(GraphCounts.of(graph), Processes())
        plan = self.plan(GraphCounts.of(graph), available)
        engine = Columns(graph.n_nodes, self.model_.projection.dtype, plan.blocks)
        return self.model_.states(graph, engine, step=step)

    def _restore(self) -> None:
        model, decoder, kind = self.model_, self.decoder_, self.fitted_on_
        coordinates, sources, placed = model.coordinates, model.coordinates.sources, model.structure
        r, size = len(coordinates.center), model.projection.shape[1]
        rank = 0 if placed is None else placed.rank
        views = {n: v for n, v in VIEWS.items() if placed is not None or v.source != "structure"}
        widths = [rank if view.source == "structure" else r for view in views.values()]
        arguments.weights(self.weights, [*views, *(source.name for source in sources)])
        groups = arguments.groups(self.groups, self.n_features_in_)
        chosen = self.weights is not None and kind.content != "edges"
        evidence, places = model.evidence, coordinates.places
        counts = np.bincount(places[places >= 0], minlength=len(sources)).tolist()
        holds = {
            "n_components": 1 <= size <= arguments.integer("n_components", self.n_components),
            "sources": counts == [source.n_features for source in sources],
            "groups": groups is None
            or (
                kind.content == "features"
                and self.weights is not None
                and [source.name for source in sources] == list(dict.fromkeys(groups))
                and groups == [sources[place].name for place in places.tolist()]
            ),
            "evidence": (evidence is not None) == chosen
            and (evidence is None or len(evidence.sources) == len(sources)),
            "alignments": evidence is None or len(evidence.alignments) == len(sources),
            "coordinates": coordinates.components is not None or r == self.n_features_in_,
            "structure": (placed is not None) == (self.structure and kind.has_edges),
            "weights": list(model.weights) == list(views),
            "reconstruction": len(model.reconstruction.weights) == r,
            "projection": len(model.projection) == sum(widths),
            "decoder": decoder is None or (kind.has_edges and decoder.fits(r)),
        }
        for name, good in holds.items():
            if not good:
                raise InputError(f"{name} in it is out of range or contradictory")

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.projection.shape[1])
