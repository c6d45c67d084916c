"""`read_graph`: tables, whole graphs and matrices in files -> `Graph`."""

import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, InputWarning, warn_ignored
from graphgate.graph.graph import Graph
from graphgate.io.files import (
    StrPath,
    check_file,
    file_ending,
    first_line,
    read_bytes,
    read_text,
)
from graphgate.io.graph_tables import NODE, GraphTables, build_graph, listed_once, make_graph
from graphgate.io.limits import check_claim
from graphgate.io.matrices import MATRIX_ENDINGS, read_adjacency, read_matrix
from graphgate.io.networkx import edge_table, node_columns, node_table
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.table_files import open_table
from graphgate.io.tables import Table
from graphgate.io.text_graphs import read_adjacency_list, read_edge_list, read_pajek

_ADJACENCIES = (".npz", ".mtx")
_BY_NETWORKX = (".graphml", ".gml", ".gexf")
# Attributes that elements of GraphML and GEXF must have.
_NEEDED = {"node": ("id",), "edge": ("source", "target")}


def read_graph(
    edges: StrPath,
    nodes: StrPath | None = None,
    *,
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    id: str = "id",
    label: str | None = "label",
    drop: Iterable[str] = (),
    words: Iterable[str] = (),
    categories: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
    unknown_nodes: str = "drop",
    directed: bool | None = None,
) -> Graph:
    """Read a graph from a file of edges and an optional file of nodes.

    Parameters
    ----------
    edges : a table in CSV (.csv) or TSV (.tsv), optionally compressed (.gz, .bz2, .zst), with a
        header and in UTF-8, or in Parquet (.parquet, .pq). Or a file with a whole graph: GraphML,
        GML, GEXF, Pajek, an edge list, an adjacency list or an adjacency matrix, by the endings in
        `GRAPH_ENDINGS`; its own attributes are used if no file of nodes is given.
    nodes : a table, or a matrix of features (.npz, .npy, .mtx) whose rows are nodes 0, 1, ….
        Without it, the graph has the nodes that the edges name, in order of first appearance.
    source, target, weight : columns of the edge table. The weight may be absent, and None ignores
        it. Other columns are ignored with a warning.
    id, label : columns of the node table. The label may be absent, and None makes it an attribute.
    drop : columns of the node table to leave out. All others are attributes.
    words, categories : columns of the node table that are text to be split at white space into
        words, and categories although they look like numbers.
    kinds : what columns of the node table are read as, to override what their values suggest, such
        as {"born": "date"}; docs/attributes.md lists the kinds. Columns that the table lacks are
        ignored.
    unknown_nodes : what to do with edges to a node that is not in the node table: "drop" the edge
        or "add" the node with all attributes missing, both with a warning that counts them, or
        "refuse". If no edge would be left, the ids do not match, which is an error.
    directed : None follows the file; tables and lists are undirected, a matrix is directed unless
        it is symmetric.

    In text files a column is text if any of its numbers has leading zeros, such as a postcode.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     edges, nodes = Path(folder, "edges.csv"), Path(folder, "nodes.csv")
    ...     _ = edges.write_text("source,target\\nada,bob\\n")
    ...     _ = nodes.write_text("id,age\\nada,36\\nbob,41\\n")
    ...     read_graph(edges, nodes)
    Graph(2 nodes, 1 undirected edge, 1 attribute (age))
    """
    options = ReadingOptions(
        *(source, target, weight, id, label, drop, words, categories, unknown_nodes, directed),
        kinds=kinds or {},
    )
    features = nodes if nodes is not None and file_ending(nodes)[0] in MATRIX_ENDINGS else None
    ending, _ = file_ending(edges)
    if ending in _ADJACENCIES:
        return _graph_of_matrix(edges, nodes, features, options)
    if ending in GRAPH_ENDINGS:
        tables, options = _whole_graph(edges, nodes, options)
    else:
        tables = GraphTables(open_table(edges, others=GRAPH_ENDINGS))
    if features is not None:
        return _graph_with_features(tables.edges, features, options)
    rows = tables.nodes if nodes is None else open_table(nodes)
    return build_graph(tables.edges, rows, options)


def _whole_graph(
    path: StrPath, nodes: StrPath | None, options: ReadingOptions
) -> tuple[GraphTables, ReadingOptions]:
    """The tables of a file with a whole graph, and how to read them; `nodes` replace its own."""
    read = _READERS.get(file_ending(path)[0])
    tables = _read_by_networkx(path, options.weight) if read is None else read(path)
    unnamed = options.given("source", "target", *["weight"] * (read is not None))
    unnamed += options.given("id") * (nodes is None)
    warn_ignored(str(path), "option", unnamed, "the file has no such columns")
    if nodes is not None:
        replaced = [] if tables.nodes is None else tables.nodes.names
        others = [name for name in replaced if name != NODE]
        warn_ignored(str(path), "node attribute", others, f"those in {nodes} are used")
    own_id = "id" if tables.nodes is None else NODE
    options = replace(
        options,
        source="source",
        target="target",
        weight=None if options.weight is None else "weight",
        id=own_id if nodes is None else options.id,
        directed=tables.directed if options.directed is None else options.directed,
    )
    return tables, options


def _graph_of_matrix(
    path: StrPath, nodes: StrPath | None, features: StrPath | None, options: ReadingOptions
) -> Graph:
    if nodes is not None and features is None:
        raise InputError(
            f"{path} is a matrix without node ids, so {nodes} cannot be joined to it; "
            f"pass features as a matrix with one row per node ({', '.join(MATRIX_ENDINGS)})"
        )
    if options.drop or options.words or options.categories or options.label not in (None, "label"):
        raise InputError(f"{path} is a matrix, which has neither labels nor named attributes")
    unnamed = options.given("source", "target", "weight", "id")
    warn_ignored(str(path), "option", unnamed, "a matrix has no such columns")
    adjacency, directed = read_adjacency(path, options.directed)
    x = None if features is None else read_matrix(features)
    if x is not None and x.shape[0] != adjacency.shape[0]:
        raise InputError(
            f"{features} has {x.shape[0]:,} rows, but {path} has {adjacency.shape[0]:,} nodes; "
            "pass one row of features per node"
        )
    # Zeros are no edges, and a matrix of ones is unweighted.
    stored = adjacency.data != 0
    pairs = np.stack([adjacency.row[stored], adjacency.col[stored]], axis=1).astype(np.int64)
    weights = adjacency.data[stored].astype(np.float64)
    if not directed and (adjacency != adjacency.T).nnz == 0:
        pairs, weights = listed_once(pairs, weights)
    return make_graph(
        pairs,
        None if options.weight is None or (weights == 1).all() else weights,
        str(path),
        str(features or path),
        x=x,
        ids=np.arange(adjacency.shape[0]),
        directed=directed,
    )


def _graph_with_features(edges: Table, features: StrPath, options: ReadingOptions) -> Graph:
    """The graph of a matrix of features and of edges that name its rows by number, from 0."""
    if options.unknown_nodes == "add":
        raise InputError(
            f"unknown_nodes must be drop or refuse, because {features} cannot have rows for other "
            "nodes"
        )
    x = read_matrix(features)
    rows = Table(pa.table({options.id: np.arange(x.shape[0])}), str(features))
    return build_graph(edges, rows, options, x=x)


# --- whole graphs --------------------------------------------------------------------------------


def _read_by_networkx(path: StrPath, weight: str | None) -> GraphTables:
    """A GraphML, GML or GEXF file, directed as the file says.

    The ids of a GML file are its labels if every node has one and they are distinct, as NetworkX
    writes them, and otherwise its numbers. Labels of GML and GEXF are names of nodes, not
    attributes; where they are not the ids, they are ignored with a warning, and so is how nodes
    are drawn.
    """
    ending, _ = file_ending(path)
    g = _networkx_graph(path, ending)
    if not len(g):
        raise InputError(f"{path} contains a graph without nodes; a graph needs at least one")
    columns = node_columns(g)
    names = [str(name) for name in g]
    drawn = [name for name in ("graphics", "viz") if columns.pop(name, None) is not None]
    if ending != ".graphml" and (labels := columns.pop("label", None)) is not None:
        texts = [str(label) for label in labels]
        if ending == ".gml" and None not in labels and len(set(texts)) == len(names):
            names = texts
        elif any(text not in ("None", name) for text, name in zip(texts, names, strict=True)):
            drawn.append("label")
    warn_ignored(str(path), "node attribute", drawn)
    if ending != ".gml":
        for *_, data in g.edges(data=True):
            data.pop("id", None)  # of the edge's element in the file
    edges = edge_table(g, names, weight, str(path))
    nodes = node_table(g, names, columns, str(path))
    edges.spelled = nodes.spelled = True
    return GraphTables(edges, nodes, g.is_directed())


def _networkx_graph(path: StrPath, ending: str) -> Any:
    try:
        import networkx as nx

        with warnings.catch_warnings(record=True, action="always", category=UserWarning) as noted:
            if ending == ".gml":
                g = nx.parse_gml(_unicode(path, read_text(path)).split("\n"), label=None)
            else:
                read = nx.read_graphml if ending == ".graphml" else nx.read_gexf
                g = read(io.BytesIO(_harmless_xml(path)))
    except ImportError:
        raise InputError(f"reading {path} needs NetworkX: pip install 'graphgate[graph]'") from None
    except InputError:
        raise
    # NetworkX raises errors of every kind on damaged files.
    except Exception as error:
        raise InputError(f"{path} is damaged or not a {ending} file: {first_line(error)}") from None
    for sentence in dict.fromkeys(str(note.message) for note in noted):  # on ports, for example
        warnings.warn(InputWarning(f"{path}: {sentence}"), stacklevel=5)
    _fill_defaults(path, g)
    return g


def _fill_defaults(path: StrPath, g: Any) -> None:
    """Give nodes and edges without a value the default that the file states.

    Refuses more values of attributes than a file of this size may have.
    """
    size = check_file(path).stat().st_size
    for key, elements in (("node_default", g.nodes), ("edge_default", g.edges)):
        defaults = g.graph.get(key, {})
        names = set(defaults).union(*(data for *_, data in elements(data=True)))
        check_claim(str(path), "text", len(names) * len(elements), size, "values of attributes")
        for *_, data in elements(data=True):
            data.update(defaults | data)


def _harmless_xml(path: StrPath) -> bytes:
    """The content of an XML file that declares no entities, which can grow without bounds.

    Neither format needs them. Nodes need distinct ids and edges two ends, which NetworkX would
    replace by the text "None". It would read only the first of several graphs, and none that is
    within a node.
    """
    content = read_bytes(path, "text")
    parser = expat.ParserCreate()
    ids: set[str] = set()
    graphs = 0

    def refuse(problem: str) -> NoReturn:
        raise InputError(f"{path}, line {parser.CurrentLineNumber}: {problem}")

    def check(tag: str, attributes: Mapping[str, str]) -> None:
        nonlocal graphs
        name = tag.rpartition(":")[2]
        if lacking := [need for need in _NEEDED.get(name, ()) if need not in attributes]:
            refuse(f"the {name} lacks its {lacking[0]}; fix the file")
        graphs += name == "graph"
        if graphs > 1:
            refuse(
                "a second graph begins; save every graph in a file of its own, without groups of "
                "nodes"
            )
        if name == "node":
            if attributes["id"] in ids:
                refuse(
                    f"the id {attributes['id']!r} is that of an earlier node; ids must be unique"
                )
            ids.add(attributes["id"])

    parser.StartElementHandler = check
    parser.EntityDeclHandler = lambda *_: refuse(
        "an XML entity is declared, which is not supported; save the file without entities"
    )
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise InputError(f"{path} is damaged or not an XML file: {error}") from None
    return content


def _unicode(path: StrPath, text: str) -> str:
    """The text of a GML file, whose character references must be characters."""
    for reference in re.findall(r"&#(\d+|[xX][0-9a-fA-F]+);", text):
        digits = reference.lstrip("xX")
        code = int(digits, 16 if digits != reference else 10) if len(digits) < 9 else 0x110000
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise InputError(f"{path}: &#{reference[:12]}; is not a character; fix the file")
    return text


_READERS: dict[str, Callable[[StrPath], GraphTables]] = {
    ".net": read_pajek,
    ".pajek": read_pajek,
    ".edgelist": read_edge_list,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
    ".adjlist": read_adjacency_list,
}
# Every ending may be followed by one of `files.COMPRESSIONS`.
GRAPH_ENDINGS = (*_ADJACENCIES, *_BY_NETWORKX, *_READERS)
