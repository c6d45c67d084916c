"""Cora, Citeseer and Pubmed by name, from the best place that has them.

A folder that the user names comes first, then the cache that `fetch` fills, then the copy that
comes with the package. Only `fetch` touches the network.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphgate.datasets import bundled as carried
from graphgate.datasets import planetoid
from graphgate.datasets.download import download
from graphgate.datasets.planetoid import NAMES
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.progress import progress_bar

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"
FOLDER_VARIABLE = "GRAPHGATE_DATA"
CARRIED = "carried with the package"


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


@dataclass(frozen=True)
class Dataset:
    """A citation graph and where it comes from.

    `split` is "public" (Planetoid's, on which results are compared) or "seeded" (our own of the
    same sizes). `listed_edges` and `self_loops` count what the source lists, as papers do;
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
        """What to say beside every number made with this dataset; empty for the public split."""
        if self.split == "public":
            return ""
        return (
            f"{self.name}: a fixed seeded split of the public one's sizes, not the public split; "
            f"`graphgate data fetch {self.name}` gets that"
        )

    @property
    def statistics(self) -> Statistics:
        graph = self.graph
        sizes = (int(graph.splits[split].sum()) for split in ("train", "val", "test"))
        return Statistics(
            graph.n_nodes, graph.n_edges, graph.n_features, len(graph.classes), *sizes
        )


@dataclass(frozen=True)
class DatasetRow:
    """A line of `graphgate data list`: the paper's counts beside ours, duplicates removed."""

    name: str
    paper: Statistics
    ours: Statistics
    listed_edges: int
    self_loops: int
    split: str
    origin: str


@dataclass(frozen=True)
class FileStatus:
    """A line of `graphgate data verify`; status is ok, missing, altered or unreadable."""

    place: str
    file: str
    status: str


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """The dataset `name`, from `folder` (or $GRAPHGATE_DATA), the cache, or the package.

    >>> load_dataset("citeseer").graph.n_edges
    4552
    """
    check_name(name)
    named = named_folder(folder)
    if named is not None and _present(named, name):
        return _from_planetoid(name, named)
    cache = cache_folder()
    # A fetch that was cut off leaves some files: that must not break what worked before it.
    if len(_present(cache, name)) == len(planetoid.PARTS):
        return _from_planetoid(name, cache)
    copy = carried.read_carried(name)
    split = "seeded" if name == "cora" else "public"
    return Dataset(name, copy.graph, split, CARRIED, copy.listed_edges, copy.self_loops)


def dataset_rows(folder: str | os.PathLike[str] | None = None) -> list[DatasetRow]:
    """Every dataset as it would be loaded now, beside the paper's statistics."""
    return [
        DatasetRow(
            name=name,
            paper=PAPER_STATISTICS[name],
            ours=dataset.statistics,
            listed_edges=dataset.listed_edges,
            self_loops=dataset.self_loops,
            split=dataset.split,
            origin=dataset.origin,
        )
        for name in NAMES
        for dataset in [load_dataset(name, folder)]
    ]


def fetch(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    base_url: str = PLANETOID_URL,
    timeout: float = 30.0,
    show: bool = True,
) -> Path:
    """Downloads the files of a dataset that are not there and right yet; returns their folder.

    They go into the cache, or into `folder`. Each is checked against its SHA-256 before it gets
    its name.
    """
    check_name(name)
    target = cache_folder() if folder is None else Path(folder).expanduser()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{target} is not a folder; remove it or name another one") from None
    except OSError as error:
        raise InputError(f"the folder {target} cannot be made: {error.strerror}") from None
    files = planetoid.file_names(name)
    missing = [f for f in files if _status((target / f).read_bytes, _checksum(f)) != "ok"]
    with progress_bar(f"Fetching {name}", total=len(missing), show=show) as advance:
        for file in missing:
            download(
                f"{base_url.rstrip('/')}/{file}",
                target / file,
                _checksum(file),
                timeout=timeout,
                advance=partial(advance, note=file),
            )
    return target


def verify(name: str, folder: str | os.PathLike[str] | None = None) -> list[FileStatus]:
    """Whether every file of every copy of a dataset is there and right."""
    check_name(name)
    named = named_folder(folder)
    places = [place for place in (named, cache_folder()) if place is not None]
    found = [
        FileStatus(str(place), file, _status((place / file).read_bytes, _checksum(file)))
        for place in dict.fromkeys(places)
        for file in planetoid.file_names(name)
    ]
    file = f"{name}.npz"
    status = _status(partial(carried.carried_bytes, name), carried.CHECKSUMS[file])
    return [*found, FileStatus(CARRIED, file, status)]


def check_name(name: str) -> None:
    if name not in NAMES:
        raise InputError(f"there is no dataset {name!r}; the names are {', '.join(NAMES)}")


def named_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder that was named, by argument or by $GRAPHGATE_DATA; it must exist."""
    origin = "" if folder is not None else f" (named by ${FOLDER_VARIABLE})"
    named = os.environ.get(FOLDER_VARIABLE) if folder is None else folder
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_dir():
        problem = "is not a folder" if path.exists() else "does not exist"
        raise InputError(f"the data folder {path}{origin} {problem}; make it or name another one")
    return path


def cache_folder() -> Path:
    """Where `fetch` puts the files; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard: a relative path is invalid and to be ignored.
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~/.cache"))
    return root / "graphgate" / "planetoid"


def _from_planetoid(name: str, folder: Path) -> Dataset:
    data = planetoid.read_planetoid(folder, name)
    origin = f"Planetoid files in {folder}"
    return Dataset(name, data.graph, "public", origin, data.edges.listed, data.edges.self_loops)


def _present(folder: Path, name: str) -> list[str]:
    return [file for file in planetoid.file_names(name) if (folder / file).exists()]


def _checksum(file: str) -> str:
    return planetoid.CHECKSUMS[file]


def _status(read: Callable[[], bytes], expected: str) -> str:
    try:
        data = read()
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "unreadable"
    return "ok" if hashlib.sha256(data).hexdigest() == expected else "altered"
