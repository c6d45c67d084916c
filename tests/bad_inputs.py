"""Files that are wrong, and commands that must refuse them: what is given, and words of the answer.

Every command is refused in one sentence with exit code 2, and leaves no output.
"""

import gzip
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.torch import save_file

from graphgate import GATE, LinearGATE, read_graph, write_run

EDGES = "source,target\na,b\nb,c\nc,d\nd,a\ne,a\n"
NODES = "id,p,q,r,label\na,1,0,2,x\nb,0,1,0,y\nc,3,1,0,\nd,0,0,1,x\ne,1,1,1,y\n"
VECTORS = "node_id,e0,e1\na,1,0\nb,0,1\nc,1,1\nd,2,1\ne,0,3\n"

TEXTS = {
    "edges.csv": EDGES,
    "nodes.csv": NODES,
    "z.csv": VECTORS,
    "empty.csv": "",
    "blank.csv": " \n\n",
    "header.csv": "source,target\n",
    "header_nodes.csv": "id,p\n",
    "semicolons.csv": EDGES.replace(",", ";"),
    "pipes.csv": EDGES.replace(",", "|"),
    "ragged.csv": EDGES + "a,b,c,d\n",
    "short.csv": EDGES + "a\n",
    "quote.csv": EDGES + '"a,b\n',
    "no_target.csv": "source,b,c\na,b,c\n",
    "twice.csv": "source,source,target\na,b,c\n",
    "blank_id.csv": "id,p\na,1\n,2\n",
    "duplicate.csv": NODES + "a,1,1,1,x\n",
    "spaces.csv": NODES + "a ,1,1,1,x\n",
    "other_nodes.csv": "id,p\nu,1\nv,2\n",
    "text_nodes.csv": "id,p\na,\n",
    "words_weight.csv": "source,target,weight\na,b,heavy\n",
    "negative.csv": "source,target,weight\na,b,-1\n",
    "infinite.csv": "source,target,weight\na,b,inf\n",
    "nan.csv": "source,target,weight\na,b,nan\n",
    "no_weight.csv": "source,target,weight\na,b,\n",
    "no_end.csv": "source,target\na,\n",
    "loops.csv": "source,target\na,a\n",
    "infinite_nodes.csv": "id,p\na,inf\nb,1\nc,1\nd,1\ne,1\n",
    "broken.graphml": "<graphml><graph",
    "entity.graphml": '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "b">]><graphml>&a;</graphml>',
    "broken.gml": "graph [ node [ id",
    "broken.gexf": "<gexf></graph>",
    "broken.net": "*Vertices x\n",
    "broken.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 one 1\n",
    "broken.edgelist": "a\n",
    "wrong.xyz": EDGES,
    "vectors_words.csv": "node_id,e0\na,one\n",
    "vectors_nan.csv": "node_id,e0\na,nan\nb,1\n",
    "vectors_twice.csv": "node_id,e0\na,1\na,2\n",
    "vectors_no_id.csv": "id,e0\na,1\n",
    "vectors.txt": "3 2\na 1 2\nb 1 2\n",
    "words.txt": "these are words\n",
    "one_vector.csv": "node_id,e0,e1\na,1,0\n",
    "results.json": "{}",
    "file": "",
}


def write_files() -> None:
    """Into the current folder."""
    for name, text in TEXTS.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("latin.csv").write_bytes("source,target\ncafé,b\n".encode("latin-1"))
    Path("utf16.csv").write_bytes(EDGES.encode("utf-16"))
    Path("binary.csv").write_bytes(bytes(range(256)))
    Path("cut.csv.gz").write_bytes(gzip.compress(EDGES.encode() * 1000)[:-20])
    Path("false.csv.gz").write_text(EDGES)
    Path("false.csv.zst").write_text(EDGES)
    Path("false.parquet").write_text(EDGES)
    Path("folder.csv").mkdir()
    Path("folder").mkdir()
    Path("folder/file").touch()
    Path("loop.csv").symlink_to("loop.csv")
    Path("loop.safetensors").symlink_to("loop.safetensors")
    Path("gone.csv").symlink_to("nowhere.csv")
    os.mkfifo("fifo.csv")
    Path("pickle.safetensors").write_bytes(pickle.dumps({"weights": [1, 2]}))
    Path("pickle.csv").write_bytes(pickle.dumps({"weights": [1, 2]}))
    table = pa.table({"source": [1.5, 2.0], "target": [2.0, 3.0]})
    pyarrow.parquet.write_table(table, "floats.parquet")
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez("objects.npz", ids=np.array([{}], dtype=object), embedding=np.eye(1))
    np.savez("no_matrix.npz", x=np.eye(2), y=np.eye(2))
    adjacency = sp.csr_array(np.eye(3, k=1))
    sp.save_npz("rectangle.npz", sp.csr_array(np.ones((2, 3))))
    sp.save_npz("matrix.npz", adjacency)
    stored = dict(np.load("matrix.npz"))
    np.savez("indptr.npz", **stored | {"indptr": np.array([0, 100, 200, -1], dtype=np.int32)})
    np.save("two_rows.npy", np.eye(2))
    graph = read_graph("edges.csv", "nodes.csv")
    linear = LinearGATE(2, random_state=0, progress=False).fit(graph)
    gate = GATE((2,), epochs=1, random_state=0, progress=False).fit(graph)
    linear.save("linear.safetensors")
    gate.save("gate.safetensors")
    inputs = {"edges": "edges.csv", "nodes": "nodes.csv"}
    write_run("run", linear, graph, inputs=inputs)
    for name, change in {
        "run_threads": {"threads": 0},
        "run_settings": {"settings": {"dims": [2]}},
        "run_inputs": {"inputs": {}},
    }.items():
        Path(name).mkdir()
        record = json.loads(Path("run/run.json").read_text()) | change
        Path(name, "run.json").write_text(json.dumps(record))
    Path("run_list").mkdir()
    Path("run_list/run.json").write_text("[]")
    whole = Path("linear.safetensors").read_bytes()
    Path("cut.safetensors").write_bytes(whole[: len(whole) // 2])
    Path("tail.safetensors").write_bytes(whole + b"more")
    with safe_open("linear.safetensors", framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["graphgate"])
    for name, change in {"newer": {"version": 99}, "kind": {"kind": "cake"}}.items():
        metadata = {"graphgate": json.dumps(header | change)}
        save_file(tensors, f"{name}.safetensors", metadata)
    save_file(tensors, "foreign.safetensors")
    parquet = Path("run/embedding.parquet").read_bytes()
    Path("cut.parquet").write_bytes(parquet[: len(parquet) // 2])


_EMBED = "embed edges.csv --nodes nodes.csv --out out.csv"
_LONG = "x" * 252

# Command -> words of the sentence.
COMMANDS = {
    # Files that are no tables.
    "embed empty.csv --out out.csv": "empty.csv is empty",
    "embed blank.csv --out out.csv": "blank.csv",
    "embed header.csv --out out.csv": "no edges",
    "embed edges.csv --nodes empty.csv --out out.csv": "empty.csv is empty",
    "embed edges.csv --nodes header_nodes.csv --out out.csv": "header_nodes.csv",
    "embed semicolons.csv --out out.csv": "semicolons.csv",
    "embed pipes.csv --out out.csv": "pipes.csv",
    "embed latin.csv --out out.csv": "UTF-8",
    "embed utf16.csv --out out.csv": "utf16.csv",
    "embed binary.csv --out out.csv": "binary.csv",
    "embed pickle.csv --out out.csv": "pickle.csv",
    "embed ragged.csv --out out.csv": "line 7",
    "embed short.csv --out out.csv": "line 7",
    "embed quote.csv --out out.csv": "quote.csv",
    "embed cut.csv.gz --out out.csv": "truncated",
    "embed false.csv.gz --out out.csv": "not a .gz file",
    "embed false.csv.zst --out out.csv": "not a .zst file",
    "embed false.parquet --out out.csv": "false.parquet",
    "embed cut.parquet --out out.csv": "cut.parquet",
    "embed folder.csv --out out.csv": "is a folder",
    "embed fifo.csv --out out.csv": "fifo.csv",
    "embed loop.csv --out out.csv": "loop.csv",
    "embed gone.csv --out out.csv": "gone.csv does not exist",
    "embed absent.csv --out out.csv": "absent.csv does not exist",
    "embed wrong.xyz --out out.csv": "ending",
    "embed edges.csv --nodes loop.csv --out out.csv": "loop.csv",
    "embed edges.csv --nodes folder --out out.csv": "folder",
    # Tables that are no graphs.
    "embed no_target.csv --out out.csv": "unclear which columns",
    "embed twice.csv --out out.csv": "source",
    "embed no_end.csv --out out.csv": "no_end.csv",
    "embed words_weight.csv --out out.csv": "heavy",
    "embed negative.csv --out out.csv": "-1",
    "embed infinite.csv --out out.csv": "infinite.csv",
    "embed nan.csv --out out.csv": "nan.csv",
    "embed no_weight.csv --out out.csv": "no_weight.csv",
    "embed edges.csv --weight source --out out.csv": "must be different columns",
    "embed edges.csv --source a --out out.csv": "'a'",
    "embed edges.csv --nodes duplicate.csv --out out.csv": "'a'",
    "embed edges.csv --nodes spaces.csv --out out.csv": "only in white space from the id on line 2",
    "embed floats.parquet --nodes nodes.csv --out out.csv": "ids of type double",
    "embed edges.csv --nodes blank_id.csv --out out.csv": "line 3",
    "embed edges.csv --nodes other_nodes.csv --out out.csv": "other_nodes.csv",
    "embed edges.csv --nodes infinite_nodes.csv --out out.csv": "not finite",
    "embed edges.csv --nodes nodes.csv --label id --out out.csv": "both ids and labels",
    "embed edges.csv --nodes nodes.csv --label grade --out out.csv": "'grade'",
    "embed edges.csv --nodes nodes.csv --id name --out out.csv": "'name'",
    "embed edges.csv --nodes nodes.csv --words ghost --out out.csv": "'ghost'",
    "embed edges.csv --nodes nodes.csv --words p --category p --out out.csv": "both",
    "embed edges.csv --unknown-nodes eat --out out.csv": "unknown_nodes",
    "embed edges.csv --nodes two_rows.npy --out out.csv": "two_rows.npy",
    "embed edges.csv --nodes objects.npy --out out.csv": "objects.npy",
    # Graph and matrix files.
    "embed broken.graphml --out out.csv": "broken.graphml",
    "embed entity.graphml --out out.csv": "entity.graphml",
    "embed broken.gml --out out.csv": "broken.gml",
    "embed broken.gexf --out out.csv": "broken.gexf",
    "embed broken.net --out out.csv": "broken.net",
    "embed broken.mtx --out out.csv": "broken.mtx",
    "embed broken.edgelist --out out.csv": "broken.edgelist",
    "embed rectangle.npz --out out.csv": "rectangle.npz",
    "embed no_matrix.npz --out out.csv": "no_matrix.npz",
    "embed indptr.npz --out out.csv": "indptr.npz",
    "embed objects.npz --out out.csv": "objects.npz",
    # Outputs.
    "embed edges.csv --out folder.csv": "is a folder",
    "embed edges.csv --out absent/out.csv": "absent does not exist",
    "embed edges.csv --out file/out.csv": "file is not a folder",
    "embed edges.csv --out fifo.csv": "is a pipe",
    "embed edges.csv --out loop.csv": "symbolic links",
    "embed edges.csv --out out.doc": "must end in",
    "embed edges.csv --out edges.csv": "is given twice",
    f"embed edges.csv --out {_LONG}.csv": "File name too long",
    "embed edges.csv --out caf\udce9.csv": "not UTF-8",
    f"{_EMBED} --model folder": "is a folder",
    f"{_EMBED} --model absent/m.safetensors": "absent does not exist",
    f"{_EMBED} --page out.csv": "is given twice",
    f"{_EMBED} --scores out.html": "must end in",
    f"{_EMBED} --attention {_LONG}.csv --method gate": "File name too long",
    f"{_EMBED} --checkpoint file/c.safetensors": "file is not a folder",
    "embed edges.csv --run folder": "folder already exists",
    "embed edges.csv --run file": "file already exists",
    f"embed edges.csv --run {_LONG}long": "File name too long",
    "embed edges.csv --run absent/run": "absent does not exist",
    # Options.
    f"{_EMBED} --components 0": "n_components",
    f"{_EMBED} --components many": "--components",
    f"{_EMBED} --dims 4,x": "--dims",
    f"{_EMBED} --dims -4": "dims",
    f"{_EMBED} --epochs 0": "epochs",
    f"{_EMBED} --epochs 1.5": "--epochs",
    f"{_EMBED} --learning-rate nan": "learning_rate",
    f"{_EMBED} --learning-rate -1": "learning_rate",
    f"{_EMBED} --patience 0": "patience",
    f"{_EMBED} --activation cake": "cake",
    f"{_EMBED} --preset cake": "cake",
    f"{_EMBED} --dtype float8": "float8",
    f"{_EMBED} --seed -1": "random_state",
    f"{_EMBED} --seed {10**400}": "random_state",
    f"{_EMBED} --batch-size 0": "batch_size",
    f"{_EMBED} --memory-limit lots": "memory_limit",
    f"{_EMBED} --method cake": "cake",
    f"{_EMBED} --method linear --dims 4": "--dims is an option of --method gate",
    f"{_EMBED} --device toaster": "toaster",
    f"{_EMBED} --checkpoint linear.safetensors": "linear.safetensors",
    f"{_EMBED} --checkpoint pickle.safetensors": "pickle.safetensors",
    f"{_EMBED} --scratch file": "file",
    f"{_EMBED} --bogus": "--bogus",
    "embed": "EDGES",
    "bogus": "bogus",
    # Runs.
    "embed --repeat absent": "is not a run folder",
    "embed --repeat folder": "is not a run folder",
    "embed --repeat file": "is not a run folder",
    "embed --repeat run_list": "is not a JSON object",
    "embed --repeat run_settings": "its params",
    "embed --repeat run_inputs": "run.json",
    "embed --repeat run_threads": "threads",
    "embed --repeat run --seed 3": "omit --seed",
    # Models.
    "transform absent.safetensors edges.csv --out out.csv": "absent.safetensors",
    "transform cut.safetensors edges.csv --out out.csv": "cut.safetensors",
    "transform tail.safetensors edges.csv --out out.csv": "tail.safetensors",
    "transform newer.safetensors edges.csv --out out.csv": "version is 99",
    "transform kind.safetensors edges.csv --out out.csv": "kind.safetensors",
    "transform foreign.safetensors edges.csv --out out.csv": "foreign.safetensors",
    "transform pickle.safetensors edges.csv --out out.csv": "pickle.safetensors",
    "transform loop.safetensors edges.csv --out out.csv": "loop.safetensors",
    "transform folder edges.csv --out out.csv": "folder",
    "transform edges.csv nodes.csv --out out.csv": "edges.csv",
    "transform linear.safetensors edges.csv --out out.csv": "fitted on attributes",
    "transform linear.safetensors edges.csv --nodes other_nodes.csv --out out.csv": "other_nodes",
    "transform linear.safetensors edges.csv --nodes nodes.csv --attention a.csv --out out.csv": (
        "--attention is an option of --method gate"
    ),
    "transform gate.safetensors edges.csv --nodes nodes.csv --directed --out out.csv": "undirected",
    "transform gate.safetensors edges.csv --nodes nodes.csv --no-scale --out out.csv": "--no-scale",
    # Embeddings.
    "similar absent.csv --node a": "absent.csv does not exist",
    "similar z.csv": "--out FILE",
    "similar z.csv --node ghost": "'ghost'",
    "similar z.csv --node a --top 0": "--top",
    "similar one_vector.csv --node a": "at least two nodes",
    "similar z.csv --out out.npz": "must end in",
    "similar objects.npz --node a": "objects.npz",
    "similar matrix.npz --node a": "matrix.npz",
    "similar two_rows.npy --node a": "two_rows.npy",
    "similar cut.parquet --node a": "cut.parquet",
    "similar false.parquet --node a": "false.parquet",
    "similar words.txt --node a": "two integers",
    "similar vectors.txt --node a": "vectors.txt",
    "similar loop.csv --node a": "loop.csv",
    "similar vectors_words.csv --node a": "one",
    "similar vectors_nan.csv --node a": "not finite",
    "similar vectors_twice.csv --node a": "twice",
    "similar vectors_no_id.csv --node a": "'node_id'",
    "cluster z.csv --clusters 9": "distinct vectors",
    "cluster z.csv --clusters 0": "--clusters",
    "cluster z.csv --clusters 2 --method cake": "cake",
    "cluster z.csv --clusters 2 --json out.txt": "must end in .json",
    "cluster z.csv --clusters 2 --seed -1": "random_state",
    "classify z.csv --nodes nodes.csv --folds 2 --seed -1": "random_state",
    "cluster empty.csv --clusters 2": "empty.csv is empty",
    "classify z.csv": "no labels",
    "classify z.csv --nodes nodes.csv": "smallest class",
    "classify z.csv --nodes nodes.csv --label id": "both ids and labels",
    "classify z.csv --nodes nodes.csv --label ghost": "'ghost'",
    "classify z.csv --nodes other_nodes.csv --label p": "no id of the embedding",
    "classify z.csv --nodes nodes.csv --folds 1": "--folds",
    "classify z.csv --nodes nodes.csv --folds 2 --probe cake": "cake",
    # Links, pictures, estimates.
    "links edges.csv": "test_size",
    "links edges.csv --dataset cora": "not both",
    "links edges.csv --test 2": "test_size",
    "links edges.csv --val -1": "val_size",
    "links edges.csv --method cake": "cake",
    "links edges.csv --method nowhere:Thing": "nowhere",
    "links edges.csv --method gate --set epochs=1.5": "epochs",
    "links edges.csv --set n_components": "NAME=VALUE",
    "links": "--dataset",
    "predict-links edges.csv --model gate.safetensors": "proposes no edges",
    "predict-links edges.csv --top 0": "--top",
    "predict-links edges.csv --out out.npz": "must end in",
    "estimate": "--nodes-count",
    "estimate --nodes-count 10": "--edges-count",
    "estimate --nodes-count -5 --edges-count 3 --features 2": "n_nodes",
    "estimate --nodes-count 5 --edges-count 3 --features 2 --density 7": "density",
    "estimate edges.csv --features 3": "not both",
    "explore edges.csv": "--out page.html",
    "explore edges.csv --out page.txt": "must end in .html",
    "explore edges.csv --serve --port 70000": "--port",
    "explore --dataset cake --out page.html": "cake",
    "explore edges.csv --model linear.safetensors --method gate --out page.html": "--method",
    "figures edges.csv --formats bmp": "bmp",
    "figures edges.csv --out file": "file is not a folder",
    "demo --out file": "file",
    # Results.
    "evaluate --dataset cake": "cake",
    "evaluate --dataset cora --method cake": "cake",
    "evaluate --dataset cora --setting cake": "cake",
    "evaluate --dataset cora --runs 0": "--runs",
    "evaluate --dataset cora --method gcn --set hidden=-3": "an integer ≥ 1, got -3",
    "evaluate --dataset cora --method gcn --set epochs=1.5": "an integer ≥ 1, got 1.5",
    "evaluate --dataset cora --method gcn --set dropout=2": "from 0 to 1",
    "evaluate --dataset cora --method gcn --set hidden=wide": "a number",
    "evaluate --dataset cora --method gcn --set size=3": "size",
    "evaluate --dataset cora --json absent/out.json": "absent does not exist",
    "reproduce cake": "cake",
    "reproduce links --methods cake": "cake",
    "reproduce links --datasets cake": "cake",
    "reproduce links --results file": "file is not a folder",
    "reproduce transductive --split odd": "odd",
    "data export cake folder": "cake",
    "data export cora file": "file",
    "data fetch cake": "cake",
    "data verify cake": "cake",
}


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """What is there; writing a file would change its time, even if the content stayed the same."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            about = os.lstat(os.path.join(parent, name))
            found[os.path.join(parent, name)] = (about.st_mtime_ns, about.st_size)
    return found


def faults_of(code: int, out: str, err: str, words: str) -> list[str]:
    """What is wrong with the answer to a bad input; nothing if it is one sentence and code 2."""
    *notes, sentence = err.splitlines() or [""]
    others = [n for n in notes if not n.startswith(("note: ", "Graph(", "--", "Trained"))]
    checks = {
        f"exit code {code}": code != 2,
        "printed something": out != "",
        "another sentence": not sentence.startswith("graphgate: ") or words not in sentence,
        "more than a sentence": bool(others) or "Traceback" in err,
    }
    return [fault for fault, found in checks.items() if found]
