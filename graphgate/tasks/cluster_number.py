"""How many clusters there are, from the vectors alone.

A number of clusters is right if another sample of the same nodes gives the same clusters, and if
there are fewer nodes between two clusters than within them. Both are measured on halves of the
nodes: clusters of one half are compared with those of the other, and looked for in it.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

MOST_NODES = 2000  # a sample of more nodes says the same
FEWEST_NODES = 20
MOST_CLUSTERS = 20
_SPLITS = 3  # most of which must agree
_COMPONENTS = 32  # principal components: k clusters differ in k - 1 of them
# Chosen on block graphs of 2 to 10 blocks and on random graphs, see tests/test_cluster_number.py;
# the second one after a look at the citation graphs, too.
_STABLE = 0.7  # adjusted Rand index of the clusters of two halves
_VALLEY = 0.85  # nodes in the middle between two clusters, as a fraction of those at their centers
# Vectors of neighborhoods are normalized, so that those of any dense graph lie towards both ends of
# its leading direction; two clusters need a deeper valley than more of them.
_VALLEY_OF_TWO = 1 / 3


def choose_n_clusters(
    vectors: np.ndarray, most: int = MOST_CLUSTERS, random_state: int | None = 0
) -> int:
    """The largest number of clusters that are stable and separate; 1 if there are no clusters.

    vectors : (N, D), finite. most : the largest number to try.
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
    for k in range(min(most, distinct, len(z) // 10), 1, -1):
        failed = 0
        for seed, (one, other) in enumerate(halves):
            failed += not _are_clusters(z, one, other, k, seed)
            if failed > _SPLITS // 2:
                break
        else:
            return k
    return 1


def _are_clusters(z: np.ndarray, one: np.ndarray, other: np.ndarray, k: int, seed: int) -> bool:
    """Whether both halves of the nodes have the same k clusters, with valleys between them."""
    models = [KMeans(k, n_init=3, random_state=seed).fit(z[half]) for half in (one, other)]
    found = [model.predict(z) for model in models]
    if adjusted_rand_score(*found) < _STABLE:
        return False
    valleys = [
        _worst_valley(z[unseen], clusters[unseen], model.cluster_centers_)
        for model, clusters, unseen in zip(models, found, (other, one), strict=True)
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
                1 + np.count_nonzero(np.abs(place - at) < 1 / 6) for at in (0, 1 / 2, 1)
            )
            worst = max(worst, middle / min(left, right))
    return worst
