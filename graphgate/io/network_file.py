"""GraphML, GML and GEXF, read by NetworkX; what its readers let through is checked here."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from graphgate.errors import InputError
from graphgate.io.content import file_ending, read_bytes, read_text
from graphgate.io.network import Network, numbers_or_text
from graphgate.io.networkx import network_from_networkx
from graphgate.io.table import first_line

NETWORK_ENDINGS = (".graphml", ".gml", ".gexf")


def read_network_file(
    path: str | os.PathLike[str], weight: str | None = "weight", keep_label: bool = False
) -> Network:
    """The network of a GraphML, GML or GEXF file, directed as the file says.

    The ids of a GML file are its labels where every node has one and they are distinct, as NetworkX
    writes them, and else its numbers. Labels of GML and GEXF are names of nodes, not attributes,
    unless `keep_label` says that they are wanted as classes. How nodes are drawn is left out.
    """
    ending, _ = file_ending(path)
    readers = {".graphml": _graphml, ".gml": _gml, ".gexf": _gexf}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on ports and keys without a type
            g = readers[ending](Path(path))
    except ImportError:
        raise InputError(
            f"{path} needs NetworkX to be read; install it with: pip install 'graphgate[graph]'"
        ) from None
    except InputError:
        raise
    # NetworkX raises errors of every kind on files that are damaged.
    except Exception as error:
        raise InputError(f"{path} is damaged or no {ending} file: {first_line(error)}") from None
    if not len(g):
        raise InputError(f"{path} holds a graph without nodes; a graph needs at least one")
    if None in g:
        raise InputError(f"{path} has a node or an edge without an id; mend the file")
    _fill_defaults(g)
    network = network_from_networkx(g, weight=weight)
    ids, columns = list(network.ids), dict(network.columns)
    labels = columns.get("label")
    if ending == ".gml" and not keep_label and labels is not None and _are_names(labels):
        ids = labels
    if ending in (".gml", ".gexf") and not keep_label:
        columns.pop("label", None)
    columns.pop({".gml": "graphics", ".gexf": "viz"}.get(ending, ""), None)
    return Network(numbers_or_text(ids), network.edges, network.weights, network.directed, columns)


def _graphml(path: Path) -> Any:
    import networkx as nx

    return nx.read_graphml(io.BytesIO(_harmless_xml(path)))


def _gexf(path: Path) -> Any:
    import networkx as nx

    return nx.read_gexf(io.BytesIO(_harmless_xml(path)))


def _gml(path: Path) -> Any:
    import networkx as nx

    return nx.parse_gml(read_text(path).split("\n"), label=None)


def _harmless_xml(path: Path) -> bytes:
    """The content of an XML file that declares no entities, which can grow without bounds.

    They can only be declared before the first element, so nothing after that is looked at. Neither
    format has a use for them.
    """
    content = read_bytes(path)

    class Found(Exception):
        pass

    def refuse(*_: Any) -> NoReturn:
        raise InputError(f"{path} declares XML entities, which are not read; save it without them")

    def stop(*_: Any) -> NoReturn:
        raise Found

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler = stop
    try:
        parser.Parse(content, True)
    except Found:
        return content
    except expat.ExpatError as error:
        raise InputError(f"{path} is damaged or no XML file: {error}") from None
    return content


def _fill_defaults(g: Any) -> None:
    """Values that a file gives for all nodes or edges that have none of their own."""
    for name, value in g.graph.get("node_default", {}).items():
        for _, data in g.nodes(data=True):
            data.setdefault(name, value)
    for name, value in g.graph.get("edge_default", {}).items():
        for _, _, data in g.edges(data=True):
            data.setdefault(name, value)


def _are_names(labels: list[Any]) -> bool:
    try:
        return None not in labels and len(set(labels)) == len(labels)
    except TypeError:
        return False
