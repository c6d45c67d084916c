"""Planetoid's raw files -> `Graph`: the citation datasets with the public split.

A dataset is eight files `ind.NAME.*` (Yang, Cohen, Salakhutdinov 2016). Node numbers are those
of every public reader: first the rows of `allx`, then the test rows, where `tx[k]` is node
`test.index[k]`. Fifteen numbers of Citeseer's test range are not in `test.index`: these nodes
have edges but neither features nor labels, and belong to no split.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphgate.datasets.unpickler import load_content
from graphgate.errors import InputError
from graphgate.graph.graph import Graph

NAMES = ("cora", "citeseer", "pubmed")
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
SPLITS = ("train", "val", "test")
VALIDATION = 500

# SHA-256 of every file, as published in the repository of the Planetoid authors.
CHECKSUMS = {
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
}


@dataclass(frozen=True)
class RawDataset:
    """A citation graph, and how many edges its source lists before `Graph` merges them.

    listed_edges : half the length of all neighbor lists, the number that papers report.
    self_loops : how many of the listed edges join a node to itself.
    """

    graph: Graph
    listed_edges: int
    self_loops: int


def file_names(name: str) -> tuple[str, ...]:
    """The eight files of a dataset."""
    return tuple(f"ind.{name}.{part}" for part in PARTS)


def read_checked(path: Path) -> bytes:
    """The bytes of a Planetoid file, after checking their SHA-256."""
    expected = CHECKSUMS.get(path.name)
    if expected is None:
        raise InputError(f"{path} is not one of the Planetoid files; they are named ind.cora.x, …")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing; all of {', '.join(PARTS)} are needed: "
            "copy it there, or download the dataset again with fetch_dataset"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if (seen := hashlib.sha256(data).hexdigest()) != expected:
        raise InputError(
            f"{path} was altered or cut short and was not read: its SHA-256 is {seen[:12]}… "
            f"instead of {expected[:12]}…; delete it and download the dataset again"
        )
    return data


def read_planetoid(folder: Path, name: str) -> RawDataset:
    """The dataset whose eight files are in `folder`, each checked before it is parsed."""
    return assemble({part: read_checked(folder / f"ind.{name}.{part}") for part in PARTS}, name)


def assemble(raw: dict[str, bytes], name: str) -> RawDataset:
    """The dataset from the checked bytes of its files, by part."""
    y, tx, ty, allx, ally, neighbors = (
        load_content(raw[part], f"ind.{name}.{part}")
        for part in ("y", "tx", "ty", "allx", "ally", "graph")
    )
    try:
        test = np.array([int(line) for line in raw["test.index"].split()])
        n, f = int(test.max()) + 1, allx.shape[1]
        # Row k of the stack is node order[k]; nodes without a row stay zero and unlabeled.
        order = np.concatenate([np.arange(allx.shape[0]), test]).astype(np.int32)
        stack = sp.vstack([allx, tx]).tocoo()
        x = sp.csr_array((stack.data, (order[stack.row], stack.col)), shape=(n, f))
        labels = np.full(n, None, dtype=object)
        labels[order] = np.concatenate([ally, ty]).argmax(axis=1).tolist()

        splits = {split: np.zeros(n, dtype=bool) for split in SPLITS}
        splits["train"][: len(y)] = True
        splits["val"][len(y) : len(y) + VALIDATION] = True
        splits["test"][test] = True

        lengths = [len(ends) for ends in neighbors.values()]
        sources = np.repeat(list(neighbors), lengths)
        targets = np.concatenate([np.array(e, dtype=np.int64) for e in neighbors.values()])
        graph = Graph.from_edges(x, np.stack([sources, targets], 1), labels=labels, splits=splits)
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise InputError(f"the Planetoid files of {name} are inconsistent: {error}") from None
    return RawDataset(graph, len(sources) // 2, int((sources == targets).sum()) // 2)
