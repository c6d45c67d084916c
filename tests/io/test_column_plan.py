"""What columns are read as, from ten messy pairs of tables in several formats."""

import pyarrow as pa
import pytest
from messy_tables import PAIRS

from graphgate import from_tables, read_graph
from graphgate.io.table_files import write_table

pytestmark = pytest.mark.filterwarnings("ignore::graphgate.InputWarning")


@pytest.mark.parametrize("name", PAIRS)
def test_every_messy_column_is_read_as_what_it_is(name, tmp_path):
    messy = PAIRS[name]()
    edges, nodes = pa.table(messy.edges), pa.table(messy.nodes)
    graph = from_tables(edges, nodes)
    options = graph.reading.options
    assert (options.source, options.target, options.id) == messy.roles
    assert {plan.name: plan.kind for plan in graph.reading.columns} == messy.kinds
    files = [
        write_table(tmp_path / f"{kind}.csv", table) for kind, table in (("e", edges), ("n", nodes))
    ]
    again = read_graph(*files)
    found = again.reading.options
    assert (found.source, found.target, found.id) == messy.roles
    assert {plan.name: plan.kind for plan in again.reading.columns} == messy.kinds
