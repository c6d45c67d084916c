"""Domains of a tissue: clusters of the cells of an AnnData, carried to other slices."""

from typing import Any

from sklearn.neighbors import KNeighborsClassifier

from graphgate.errors import InputError
from graphgate.estimators.hyperparameters import integer
from graphgate.scverse.expression import check_adata, obs_column, representation
from graphgate.tasks.clustering import cluster_vectors


def cluster_anndata(
    adata: Any,
    n_clusters: int | str = "auto",
    *,
    method: str = "kmeans",
    use_rep: str = "X_gate",
    key_added: str = "gate_cluster",
    random_state: int | None = 0,
    copy: bool = False,
) -> Any:
    """Cluster the cells by obsm[use_rep] and write the clusters as categories into obs[key_added].

    `n_clusters` "auto" chooses their number by the vectors, see `cluster`; those of domains that
    change gradually, or of a small tissue, may support none, and are then a single cluster.
    `method` is "kmeans" or "gaussian-mixture" (clusters of different size and spread). Clusters
    are numbered by size, "0" being the largest. Returns None, or with `copy` an annotated copy.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> adata = anndata.AnnData(np.ones((60, 1)), obsm={"X_gate": 9 * np.eye(3)[np.arange(60) % 3]})
    >>> cluster_anndata(adata)
    >>> adata.obs["gate_cluster"].value_counts().tolist()
    [20, 20, 20]
    """
    check_adata(adata)
    vectors = representation(adata, use_rep)
    # Tissues have many cells per dimension, enough to learn full covariances.
    found = cluster_vectors(
        vectors,
        n_clusters,
        method=method,
        covariance_type="full",
        random_state=random_state,
        progress=True,
    )
    import pandas as pd

    adata = adata.copy() if copy else adata
    categories = pd.Categorical.from_codes(found, [*map(str, range(found.max() + 1))])
    adata.obs[key_added] = pd.Series(categories, index=adata.obs_names)
    return adata if copy else None


def transfer_anndata(
    adata: Any,
    adata_ref: Any,
    obs: str,
    *,
    use_rep: str = "X_gate",
    n_neighbors: int = 15,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Carry labels, such as domains, from the cells of one slice to those of another.

    Each cell gets the label that most of the nearest cells of the reference have, counted with the
    inverse of their distance; cells of the reference without a label have no vote.

    Parameters
    ----------
    adata : the new slice. Its vectors must be those of the same model as the reference's: run
        `transform_anndata` on it.
    adata_ref : the slice with labels.
    obs : the column of `adata_ref.obs` with the labels.
    use_rep : the key of obsm with the vectors, in both.
    n_neighbors : number of cells of the reference that vote.
    key_added : the column of `adata.obs` to write; the default is the same name.
    copy : annotate a copy, and return it.

    Writes categories into obs[key_added], the fraction of the votes into obs[key_added + "_votes"],
    and the colors of the reference, where it has them, into uns[key_added + "_colors"].

    Examples
    --------
    >>> import anndata, numpy as np
    >>> place = np.arange(20.0)[:, None]
    >>> first = anndata.AnnData(np.ones((20, 1)), obsm={"X_gate": place})
    >>> first.obs["layer"] = ["outer"] * 10 + ["inner"] * 10
    >>> second = anndata.AnnData(np.ones((2, 1)), obsm={"X_gate": np.array([[1.5], [18.5]])})
    >>> transfer_anndata(second, first, "layer", n_neighbors=3)
    >>> second.obs["layer"].tolist()
    ['outer', 'inner']
    """
    check_adata(adata)
    check_adata(adata_ref)
    column = obs_column(adata_ref, obs).astype("category")
    known = column.notna().to_numpy()
    if not known.any():
        raise InputError(f"no cell of the reference has a label in obs[{obs!r}]")
    vectors, reference = representation(adata, use_rep), representation(adata_ref, use_rep)
    if vectors.shape[1] != reference.shape[1]:
        raise InputError(
            f"obsm[{use_rep!r}] has {vectors.shape[1]} columns, but {reference.shape[1]} in the "
            "reference; embed both with the same model, by embed_anndata and transform_anndata"
        )
    voters = KNeighborsClassifier(
        min(integer("n_neighbors", n_neighbors), int(known.sum())), weights="distance"
    ).fit(reference[known], column.cat.codes[known])
    votes = voters.predict_proba(vectors)
    chosen = voters.classes_[votes.argmax(axis=1)]
    import pandas as pd

    adata = adata.copy() if copy else adata
    key = obs if key_added is None else key_added
    labels = pd.Categorical.from_codes(chosen, dtype=column.dtype)
    adata.obs[key] = pd.Series(labels, index=adata.obs_names)
    adata.obs[f"{key}_votes"] = votes.max(axis=1)
    if f"{obs}_colors" in adata_ref.uns:
        adata.uns[f"{key}_colors"] = list(adata_ref.uns[f"{obs}_colors"])
    return adata if copy else None
