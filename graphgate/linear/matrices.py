"""The matrices whose leading singular vectors are used, by products in blocks and chunks."""

from functools import cached_property

import torch
from torch import Tensor

from graphgate.compute.columns import Columns, Rows
from graphgate.compute.decomposition import Decomposed
from graphgate.compute.sparse_operator import SparseOperator, symmetrically_normalized
from graphgate.compute.tall_matrix import TallMatrix
from graphgate.graph.graph import Graph
from graphgate.linear.propagation import in_units_of
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.products import symmetric_product


class WeightedFeatures(Decomposed):
    """X, (N, F); processes share the columns of products."""

    def __init__(self, matrix: FeatureMatrix, engine: Columns) -> None:
        self.shape, self.dtype = matrix.shape, matrix.dtype
        self._matrix, self._engine = matrix, engine

    def squares(self, m: Tensor) -> Tensor:
        def product(some: Tensor) -> Tensor:
            along = times(self._matrix, some)
            return self._matrix.multiply_transposed(along, torch.empty_like(some))

        return self._engine.product(product, m)


def times(matrix: FeatureMatrix, m: Tensor) -> Tensor:
    """X m, (N, C), without a gradient."""
    return matrix.multiply(m, m.new_empty(matrix.shape[0], m.shape[1]))


class NormalizedAdjacency(Decomposed):
    """L = D^-½ A D^-½ of a graph, (N, N), without self-loops; processes share the products."""

    def __init__(self, graph: Graph, engine: Columns) -> None:
        self.shape, self.dtype, self._engine = (graph.n_nodes, graph.n_nodes), engine.dtype, engine
        self._matrix = symmetrically_normalized(in_units_of(graph.attended, 1.0, engine.dtype))
        self._once = SparseOperator(self._matrix, engine.dtype)
        self._directed = graph.directed

    @cached_property
    def _transposed(self) -> SparseOperator:
        return SparseOperator(self._matrix.T.tocsr(), self.dtype) if self._directed else self._once

    def squares(self, m: Tensor) -> Tensor:
        once, transposed = self._once, self._transposed
        return self._engine.product(lambda some: transposed.multiply(once.multiply(some)), m)

    def inner(self, a: Tensor, b: Tensor) -> Tensor:
        own = self._engine.own
        return self._engine.fold(lambda x, y: x.double().T @ y.double(), own(a), own(b))

    def times(self, w: Tensor) -> TallMatrix:
        """The rows of this process of L W, (n, k)."""
        operator, mine = self._once, self._engine.mine
        if mine != slice(0, len(w)):
            operator = SparseOperator(self._matrix[mine], self.dtype)
        return TallMatrix.of(operator.multiply(w))


class StackedViews(Decomposed):
    """The columns of all views of all nodes, (N, 4r + k), whose rows are read in chunks."""

    def __init__(self, engine: Columns, rows: Rows, n_columns: int) -> None:
        self.shape, self.dtype = (engine.n, n_columns), engine.dtype
        self._engine, self._rows = engine, rows

    def squares(self, m: Tensor) -> Tensor:
        return self._engine.fold(lambda v: v.T @ (v @ m), self._rows).to(self.dtype)

    def moments(self, m: Tensor) -> Tensor:
        def moments(v: Tensor) -> Tensor:
            product = (v @ m).double()
            return product.T @ product

        return self._engine.fold(moments, self._rows)

    def gram(self) -> Tensor:
        n = self.shape[1]
        return self._engine.fold(lambda v: symmetric_product(v, v.new_empty(n, n)), self._rows)
