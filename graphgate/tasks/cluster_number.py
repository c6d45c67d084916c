"""How many clusters there are, from the vectors alone.

A number of clusters is right if three conditions hold.

Stable: another sample of the same nodes gives the same clusters. Separate: there are fewer nodes
between two clusters than within them. Both are measured on halves of the nodes: clusters of one
half are compared with those of the other, and looked for in it.

Discrete: a random walk from node to similar node mixes within clusters long before it leaves them.
Any continuous shape, such as a ring, a lattice or points in the plane, can be cut into parts that
are stable, and separate where the density happens to be low, but their number is arbitrary. The
eigenvalues 0 = λ_1 ≤ λ_2 ≤ … of the Laplacian of the graph of nearest neighbors tell the two apart:
k clusters have k small ones, whose eigenvectors are nearly constant on each cluster, and then there
is a gap. Those of a line, the null hypothesis, grow as (k - 1)², and those of shapes of more
dimensions more slowly.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from graphgate.io.progress import progress_bar

MOST_NODES = 2000  # a sample of more nodes says the same
FEWEST_NODES = 20
MOST_CLUSTERS = 20
_SPLITS = 3  # most of which must agree
_COMPONENTS = 32  # principal components: k clusters differ in k - 1 of them
_NEIGHBORS, _FEWEST_NEIGHBORS = 10, 5  # fewer in fewer than 100 nodes
_GAP = 2.0  # λ_(k+1) / λ_k over that of a line; for a ring, it is up to 16 / 9
_CONSTANT = 0.5  # fraction of each of the k eigenvectors that clusters account for
_ZERO = 1e-5  # eigenvalues below are 0: parts that are not joined
# Chosen on block graphs of 2 to 10 blocks and on random graphs, see
# tests/tasks/test_cluster_number.py; the second one after a look at the citation graphs, too.
_STABLE = 0.7  # adjusted Rand index of the clusters of two halves
_VALLEY = 0.85  # nodes in the middle between two clusters, as a fraction of those at their centers
# Vectors of neighborhoods are normalized, so that those of any dense graph lie towards both ends of
# its leading direction; two clusters need a deeper valley than more of them.
_VALLEY_OF_TWO = 1 / 3


def choose_n_clusters(
    vectors: np.ndarray,
    most: int = MOST_CLUSTERS,
    random_state: int | None = 0,
    *,
    progress: bool = False,
) -> int:
    """The largest number of clusters that meets the three conditions; 1 if none does.

    vectors : (N, D), finite. most : the largest number to try. progress : show a progress bar (on
    terminals only).
    """
    generator = np.random.default_rng(random_state)
    rows = generator.permutation(len(vectors))[:MOST_NODES]
    z = vectors[np.sort(rows)].astype(np.float64)
    if len(z) < FEWEST_NODES or (z == z[0]).all():
        return 1
    components = min(_COMPONENTS, *z.shape)
    z = PCA(components, svd_solver="covariance_eigh").fit_transform(z)
    halves = [np.array_split(generator.permutation(len(z)), 2) for _ in range(_SPLITS)]
    distinct = min(len(np.unique(z[half], axis=0)) for pair in halves for half in pair)
    most = min(most, distinct, len(z) // 10)
    walk = _Walk.among(z, most)
    with progress_bar("number of clusters", most, show=progress) as advance:
        for k in range(most, 1, -1):
            advance()
            if walk.has_gap(k) and _agree(z, walk, halves, k):
                return k
    return 1


def _agree(z: np.ndarray, walk: "_Walk", halves: list[list[np.ndarray]], k: int) -> bool:
    """Whether there are k clusters by most of the splits."""
    failed = 0
    for seed, (one, other) in enumerate(halves):
        failed += not _are_clusters(z, walk, one, other, k, seed)
        if failed > _SPLITS // 2:
            return False
    return True


class _Walk(NamedTuple):
    """A random walk on the symmetric graph of nearest neighbors, by its normalized Laplacian.

    degrees : (N,).
    rates : (K + 1,) the smallest eigenvalues.
    modes : (N, K + 1) their eigenvectors.
    """

    degrees: np.ndarray
    rates: np.ndarray
    modes: np.ndarray

    @classmethod
    def among(cls, z: np.ndarray, most: int) -> Self:
        """Of these vectors, with what is needed for up to K = `most` clusters."""
        distances = squareform(pdist(z))
        np.fill_diagonal(distances, np.inf)
        farthest = min(_NEIGHBORS, max(_FEWEST_NEIGHBORS, len(z) // 10)) - 1
        reach = np.partition(distances, farthest, axis=1)[:, farthest]
        near = distances <= reach[:, None]  # with ties, so that equal vectors stay together
        laplacian = -(near | near.T).astype(np.float64)
        degrees = -laplacian.sum(axis=1)
        laplacian /= np.sqrt(degrees * degrees[:, None])
        laplacian[np.diag_indices_from(laplacian)] = 1
        rates, modes = eigh(laplacian, subset_by_index=(0, most), overwrite_a=True)
        return cls(degrees, rates, modes)

    def has_gap(self, k: int) -> bool:
        """Whether the k smallest rates are far smaller than the next one."""
        line = (k / (k - 1)) ** 2
        return bool(self.rates[k] > _GAP * line * max(self.rates[k - 1], _ZERO))

    def is_constant_on(self, clusters: np.ndarray, k: int) -> bool:
        """Whether the k modes are those of the clusters, and not of a few nodes that are apart."""
        members = np.eye(k)[clusters] * np.sqrt(self.degrees)[:, None]
        members /= np.linalg.norm(members, axis=0)
        accounted = np.square(members.T @ self.modes[:, :k]).sum(axis=0)
        return bool(accounted.min() > _CONSTANT)


def _are_clusters(
    z: np.ndarray, walk: _Walk, one: np.ndarray, other: np.ndarray, k: int, seed: int
) -> bool:
    """Whether both halves of the nodes have the same k clusters, separate and discrete."""
    models = [KMeans(k, n_init=3, random_state=seed).fit(z[half]) for half in (one, other)]
    clusterings = [model.predict(z) for model in models]
    if adjusted_rand_score(*clusterings) < _STABLE:
        return False
    if not walk.is_constant_on(clusterings[0], k):
        return False
    valleys = [
        _worst_valley(z[unseen], clusters[unseen], model.cluster_centers_)
        for model, clusters, unseen in zip(models, clusterings, (other, one), strict=True)
    ]
    return bool(np.mean(valleys) < (_VALLEY_OF_TWO if k == 2 else _VALLEY))


def _worst_valley(z: np.ndarray, clusters: np.ndarray, centers: np.ndarray) -> float:
    """Nodes in the middle between two centers per node at the emptier of them, at most."""
    worst = 0.0
    for one in range(1, len(centers)):
        for other in range(one):
            axis = centers[one] - centers[other]
            pair = z[(clusters == one) | (clusters == other)]
            place = (pair - centers[other]) @ axis / (axis @ axis)  # 0 and 1 are the centers
            left, middle, right = (
                1 + np.count_nonzero(np.abs(place - center) < 1 / 6) for center in (0, 1 / 2, 1)
            )
            worst = max(worst, middle / min(left, right))
    return worst
