"""The arrays of a small graph, as archives of datasets hold them."""

import numpy as np

ARCHIVE = {
    "x_data": np.array([1.0, 2.0], dtype=np.float32),
    "x_indices": np.array([0, 1]),
    "x_indptr": np.array([0, 1, 2, 2]),
    "x_shape": np.array([3, 2]),
    "adj_indices": np.array([1, 0]),
    "adj_indptr": np.array([0, 1, 2, 2]),
    "labels": np.array([0, 1, 0]),
}
