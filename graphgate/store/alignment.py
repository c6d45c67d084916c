"""Procrustes alignment of a refitted model, so that classifiers of old vectors keep working."""

import numpy as np
from scipy.linalg import svd


def rotation_onto(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """(D, D') with orthonormal rows: the R for which ‖new R - old‖ is smallest.

    This is orthogonal Procrustes, also where the new vectors are shorter than the old ones.
    """
    left, _, right = svd(new.astype(np.float64).T @ old.astype(np.float64), full_matrices=False)
    rotation: np.ndarray = left @ right
    return rotation
