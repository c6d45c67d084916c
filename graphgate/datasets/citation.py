"""Cora, Citeseer and Pubmed by name, from the best available source.

A folder that the user names comes first, then the cache that `fetch_dataset` fills, then the copy
bundled with the package. Only `fetch_dataset` uses the network.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from graphgate.datasets import bundled, planetoid
from graphgate.datasets.download import download
from graphgate.datasets.planetoid import CHECKSUMS, NAMES, SPLITS
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.files import cache_folder, make_folder
from graphgate.io.progress import progress_bar

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"
FOLDER_VARIABLE = "GRAPHGATE_DATA"
BUNDLED = "bundled with the package"


@dataclass(frozen=True)
class Statistics:
    """The columns of the paper's table of datasets."""

    nodes: int
    edges: int
    features: int
    classes: int
    train: int
    val: int
    test: int


PAPER_STATISTICS = {
    "cora": Statistics(2708, 5429, 1433, 7, 140, 500, 1000),
    "citeseer": Statistics(3327, 4732, 3703, 6, 120, 500, 1000),
    "pubmed": Statistics(19717, 44338, 500, 3, 60, 500, 1000),
}

# Planetoid's files number the classes; the names are those of the collections they come from.
CLASS_NAMES = {
    "cora": (
        *("Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks"),
        *("Probabilistic_Methods", "Case_Based", "Rule_Learning"),
    ),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("Experimental", "Diabetes Mellitus Type 1", "Diabetes Mellitus Type 2"),
}


def name_classes(name: str, graph: Graph) -> Graph:
    """The graph of a dataset with names instead of Planetoid's numbers as labels, for pictures.

    >>> name_classes("citeseer", load_dataset("citeseer").graph).classes
    ('AI', 'Agents', 'DB', 'HCI', 'IR', 'ML')
    """
    names = CLASS_NAMES[name]
    if graph.labels is None or graph.classes != tuple(range(len(names))):
        return graph
    return graph.with_labels([None if code < 0 else names[code] for code in graph.labels.tolist()])


@dataclass(frozen=True)
class Dataset:
    """A citation graph and where it comes from.

    split : "public" (Planetoid's, on which results are compared) or "seeded" (a fixed random
        split of the same sizes).
    origin : where the files were found.
    listed_edges, self_loops : counts of what the source lists, as papers report them;
        `graph.n_edges` counts distinct pairs.
    """

    name: str
    graph: Graph
    split: str
    origin: str
    listed_edges: int
    self_loops: int

    @property
    def caveat(self) -> str:
        """What to report beside every result on this dataset; empty for the public split."""
        if self.split == "public":
            return ""
        return (
            f"{self.name}: a seeded split of the same sizes, not the public split; "
            f"fetch_dataset({self.name!r}) downloads that"
        )

    def without_features(self) -> Self:
        """The same dataset with nothing but its edges to learn from."""
        bare = Graph(
            None,
            self.graph.adjacency,
            ids=self.graph.ids,
            labels=self.graph.label_values(),
            splits=self.graph.splits,
            directed=self.graph.directed,
        )
        return replace(self, graph=bare)

    @property
    def statistics(self) -> Statistics:
        graph = self.graph
        sizes = (int(graph.splits[split].sum()) for split in SPLITS)
        return Statistics(
            graph.n_nodes, graph.n_edges, graph.n_features, len(graph.classes), *sizes
        )


@dataclass(frozen=True)
class FileStatus:
    """A file of a dataset; `status` is ok, missing, altered or unreadable."""

    place: str
    file: str
    status: str


def load_dataset(
    name: str, folder: str | os.PathLike[str] | None = None, *, features: bool = True
) -> Dataset:
    """Load a citation dataset.

    Parameters
    ----------
    name : "cora", "citeseer" or "pubmed".
    folder : a folder with Planetoid's files; by default the one that the environment variable
        GRAPHGATE_DATA names. Where it has none of the files, the cache filled by `fetch_dataset`
        is used, and otherwise the copy bundled with the package.
    features : False for a graph that has edges and labels but no features.

    >>> load_dataset("citeseer").graph.n_edges
    4552
    """
    original = _original_folder(name, folder)
    if original is None:
        raw, origin = bundled.read_bundled(name), BUNDLED
    else:
        raw, origin = planetoid.read_planetoid(original, name), f"Planetoid files in {original}"
    split = available_split(name, folder)
    dataset = Dataset(name, raw.graph, split, origin, raw.listed_edges, raw.self_loops)
    return dataset if features else dataset.without_features()


def available_split(name: str, folder: str | os.PathLike[str] | None = None) -> str:
    """The split of the dataset that `load_dataset` would load, without reading it."""
    return "seeded" if _original_folder(name, folder) is None and name == "cora" else "public"


def fetch_dataset(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    base_url: str = PLANETOID_URL,
    timeout: float = 30.0,
    progress: bool = True,
) -> Path:
    """Download the Planetoid files of a dataset that are missing or damaged.

    Parameters
    ----------
    name : "cora", "citeseer" or "pubmed".
    folder : where to put them; by default the cache, from which `load_dataset` reads.
    base_url : the URL of the folder that has the files.
    timeout : seconds to wait for a response.
    progress : show a progress bar (on terminals only).

    Returns
    -------
    The folder. Each file is checked against its SHA-256 before it is stored under its name.

    Examples
    --------
    >>> fetch_dataset("corra")
    Traceback (most recent call last):
    graphgate.errors.InputError: ...
    """
    check_name(name)
    target = make_folder(cache_folder("planetoid") if folder is None else Path(folder).expanduser())
    missing = [
        file
        for file in planetoid.file_names(name)
        if _status((target / file).read_bytes, CHECKSUMS[file]) != "ok"
    ]
    with progress_bar(f"Downloading {name}", total=len(missing), show=progress) as advance:
        for file in missing:
            download(
                f"{base_url.rstrip('/')}/{file}",
                target / file,
                CHECKSUMS[file],
                timeout=timeout,
                advance=partial(advance, note=file),
            )
    return target


def verify_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> list[FileStatus]:
    """Check every file of every copy of a dataset against its SHA-256."""
    check_name(name)
    places = [
        place for place in (named_folder(folder), cache_folder("planetoid")) if place is not None
    ]
    statuses = [
        FileStatus(str(place), file, _status((place / file).read_bytes, CHECKSUMS[file]))
        for place in dict.fromkeys(places)
        for file in planetoid.file_names(name)
    ]
    file = f"{name}.npz"
    status = _status(partial(bundled.bundled_bytes, name), bundled.CHECKSUMS[file])
    return [*statuses, FileStatus(BUNDLED, file, status)]


def check_name(name: str) -> None:
    if name not in NAMES:
        raise InputError(f"unknown dataset {name!r}; use one of {', '.join(NAMES)}")


def named_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder given by argument or by $GRAPHGATE_DATA; it must exist."""
    origin = "" if folder is not None else f" (from ${FOLDER_VARIABLE})"
    named = os.environ.get(FOLDER_VARIABLE) if folder is None else folder
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_dir():
        problem = "is not a folder" if path.exists() else "does not exist"
        raise InputError(
            f"the data folder {path}{origin} {problem}; create it or choose another one"
        )
    return path


def _original_folder(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The folder to read Planetoid's files from; None where only the bundled copy is available."""
    check_name(name)
    named = named_folder(folder)
    if named is not None and _present(named, name):
        return named
    cache = cache_folder("planetoid")
    # An interrupted download leaves some files; the bundled copy must keep working.
    return cache if len(_present(cache, name)) == len(planetoid.PARTS) else None


def _present(folder: Path, name: str) -> list[str]:
    return [file for file in planetoid.file_names(name) if (folder / file).exists()]


def _status(read: Callable[[], bytes], expected: str) -> str:
    try:
        data = read()
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "unreadable"
    return "ok" if hashlib.sha256(data).hexdigest() == expected else "altered"
