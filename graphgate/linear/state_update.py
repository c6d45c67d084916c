"""The states of nodes after a graph has changed, from the states before and the change alone.

Propagation is linear, so the change of a state follows the same recursion as the state:
Δ_k = A' Δ_{k-1} + (A' - A) A^{k-1} z, where A and A' are the operators before and after. A' - A is
zero except at nodes whose edges have changed, so the nodes around them are all that is needed. The
powers A^{k-1} z are not stored; they are interpolated between the states, which are polynomials of
A as well. What has changed is followed for two steps from the nodes that have new edges: further
away it counts little, and is left out.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.sparse_operator import csr_matrix
from graphgate.linear.model import POLYNOMIALS, STEP

_ALL = POLYNOMIALS | STEP
STATES = tuple(sorted(_ALL, key=lambda name: len(_ALL[name])))  # own, step, shallow …
_SPECTRUM = (-0.6, 1.0)  # of the operator; self-loops keep it away from -1


def updated_states(
    states: Mapping[str, Tensor], own: Tensor, before: sp.csr_array, after: sp.csr_array
) -> dict[str, Tensor]:
    """The states of some nodes after a change, (m, r) each, by the names in `STATES`.

    Parameters
    ----------
    states : before the change; zero for nodes that are new.
    own : (m, r) coordinates after the change.
    before, after : (m, m) the rows and columns of the operator D^-½ (A + I) D^-½.
    """
    dtype = own.dtype
    stacked = torch.stack([states[name] for name in STATES])  # (5, m, r)
    operator, difference = (csr_matrix(m.tocsr(), dtype) for m in (after, after - before))
    powers = torch.from_numpy(_powers()).to(dtype)
    change = own - states["own"]
    updated = {name: states[name] + _ALL[name][0] * change for name in STATES}
    for k in range(1, max(map(len, _ALL.values()))):
        power = torch.tensordot(powers[k - 1], stacked, dims=1)
        change = operator @ change + difference @ power
        for name, coefficients in _ALL.items():
            if k < len(coefficients):
                updated[name].add_(change, alpha=coefficients[k])
    return updated


@cache
def _powers() -> np.ndarray:
    """(16, 5), each power λ^0 … λ^15 as a combination of the states, where these are polynomials.

    Least squares over the eigenvalues that the operator of a graph has. The first three are exact.
    """
    values = np.linspace(*_SPECTRUM, 401)
    polynomials = np.stack(
        [np.polynomial.polynomial.polyval(values, np.array(_ALL[name])) for name in STATES], axis=1
    )
    powers = values[:, None] ** np.arange(max(map(len, _ALL.values())) - 1)
    combinations: np.ndarray = np.linalg.lstsq(polynomials, powers, rcond=None)[0].T
    return combinations
