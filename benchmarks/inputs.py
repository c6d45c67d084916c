"""The graphs that the benchmarks use, by name, and the loss that goes with each."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.synthetic import block_graph
from graphgate.datasets.archives import list_archives, read_archive
from graphgate.datasets.citation import NAMES, load_dataset
from graphgate.estimators.hyperparameters import find_preset
from graphgate.graph.graph import Graph
from graphgate.nn.losses import Loss
from graphgate.paper.experiments.experiment import find_experiment

WORDNET = "GRAPHGATE_WORDNET"  # environment variable with the file
DIMS = (512, 512)


def load(name: str, *, folder: str = "", nodes: int = 0) -> Graph:
    """A citation graph, WordNet, a synthetic one, or that of an archive in a folder."""
    if name == "synthetic":
        return block_graph(nodes)
    if name == "wordnet":
        return read_wordnet(Path(os.environ[WORDNET]))
    if name in NAMES:
        return load_dataset(name).graph
    return read_archive(list_archives(folder)[name])


def graph_names(names: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """These names; by default the citation graphs and those of the archives in a folder."""
    return names or (*NAMES, *(list_archives(folder) if folder else ()))


def has_wordnet() -> bool:
    return Path(os.environ.get(WORDNET, "absent")).exists()


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
    experiment = find_experiment("gate", name, "transductive") if name in NAMES else None
    weight = 1.0 if experiment is None else float(experiment.params["structure_weight"])
    return Loss(find_preset("authors").feature_loss, 1.0, weight)
