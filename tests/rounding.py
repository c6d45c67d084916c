"""Results that are computed in two ways agree up to rounding, on every machine.

Bytes are compared only where the same computation is done twice: same machine, versions, threads,
input and seed. Libraries choose their kernels by the processor, the number of threads, and the
shape and place of arrays; these add up products in other orders.
"""

from typing import Any

import numpy as np

# A forward pass adds up thousands of products at most. With rounding errors of 6e-8 and 1e-16 per
# product, of random signs, this leaves a factor of ten and more.
_TOLERANCES = {4: 1e-5, 8: 1e-12}


def assert_equal_to_rounding(found: Any, expected: Any, factor: float = 1.0) -> None:
    """Compare arrays or tensors, relative to the largest value.

    factor : by how much the computation enlarges rounding: a fit by its number of epochs and more,
        because Adam divides gradients by their size.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    tolerance = factor * _TOLERANCES[expected.dtype.itemsize] * np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
