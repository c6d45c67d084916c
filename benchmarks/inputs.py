"""The graphs that the benchmarks train on, by name, and the loss that goes with each."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphgate.datasets.citation import NAMES, load_dataset
from graphgate.estimators.hyperparameters import find_preset
from graphgate.graph.graph import Graph
from graphgate.nn.losses import Loss
from graphgate.paper.experiments.experiment import find_experiment

WORDNET_VARIABLE = "GRAPHGATE_WORDNET"
DIMS = (512, 512)


def load(name: str, wordnet: Path | None = None) -> Graph:
    """Cora, Citeseer, Pubmed, or WordNet from its file."""
    if name != "wordnet":
        return load_dataset(name).graph
    if wordnet is None:
        raise SystemExit(f"WordNet needs its file: --wordnet FILE or ${WORDNET_VARIABLE}")
    return read_wordnet(wordnet)


def wordnet_file(named: Path | None) -> Path | None:
    """The file named by the option or by the environment, None where there is none."""
    found = os.environ.get(WORDNET_VARIABLE)
    path = named or (Path(found) if found else None)
    return path if path is not None and path.exists() else None


def read_wordnet(path: Path) -> Graph:
    """A graph from x_indices, x_indptr, x_shape (CSR of ones), labels and edges (u < v)."""
    with np.load(path, allow_pickle=False) as file:
        indices = file["x_indices"]
        ones = np.ones(len(indices), dtype=np.float32)
        shape = (int(file["x_shape"][0]), int(file["x_shape"][1]))
        x = sp.csr_array((ones, indices, file["x_indptr"]), shape)
        return Graph.from_edges(x, file["edges"], labels=file["labels"])


def loss_of(name: str) -> Loss:
    """The authors' form with the paper's λ of the dataset; 1 where the paper has none."""
    known = find_experiment("gate", name, "transductive") if name in NAMES else None
    weight = 1.0 if known is None else float(known.params["structure_weight"])
    return Loss(find_preset("authors").feature_loss, 1.0, weight)
