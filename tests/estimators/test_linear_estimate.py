"""The memory and time of LinearGATE, before a fit."""

import json
import os
import subprocess
import sys

import pytest

from graphgate import LinearGATE
from graphgate.compute.counts import GraphCounts
from graphgate.estimators.linear_estimate import estimate_linear

COUNTS = GraphCounts.planned(2000, 6000, 40)

MEASURE = """
import json, sys
from graphgate import LinearGATE
from graphgate.datasets.synthetic import community_graph
from graphgate.compute.counts import GraphCounts
from graphgate.compute.measure import measured, resident

nodes, edges, features, entries = json.loads(sys.argv[1])
LinearGATE(random_state=0).fit(community_graph(300, 900, 20))  # what libraries allocate once
graph = community_graph(nodes, edges, features, n_entries=entries)
before = resident()
with measured() as cost:
    LinearGATE(random_state=0).fit(graph)
plan = LinearGATE().plan(GraphCounts.of(graph))
print(plan.bytes / 2**20 / (cost.peak_memory_mb - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak")
@pytest.mark.parametrize("sizes", [(12_000, 60_000, 700, 200_000), (9_000, 300_000, 600, 150_000)])
def test_the_estimate_is_the_measured_peak(sizes):
    """In a new process: a fork would count pages of libraries that it has not touched yet."""
    command = [sys.executable, "-c", MEASURE, json.dumps(sizes)]
    # Each thread keeps memory of its own.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ratios: list[float] = []
    while len(ratios) < 3:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, timeout=90, check=True
        )
        ratios.append(float(done.stdout))
        # Pages that a busy system took from the process before the fit count as new ones.
        if ratios[-1] > 0.7:
            break
    assert 0.7 < ratios[-1] < 1.6, ratios


def linear_bytes(counts: GraphCounts, gate: LinearGATE) -> int:
    return gate.plan(counts).bytes


def test_structure_and_precision_cost_memory():
    plain = linear_bytes(COUNTS, LinearGATE(structure=False))
    assert linear_bytes(COUNTS, LinearGATE()) > plain
    assert linear_bytes(COUNTS, LinearGATE(structure=False, dtype="float64")) > plain


def test_what_does_not_fit():
    found = estimate_linear(COUNTS, LinearGATE(), None, available=1000)
    assert not found.fits
    assert estimate_linear(COUNTS, LinearGATE(), None, available=None).fits


def test_a_large_graph_is_measured_on_a_smaller_one_of_the_same_densities():
    large = GraphCounts.planned(1_000_000, 10_000_000, 100, 0.1)
    small = large.shrunk(20_000)
    assert (small.nodes, small.pairs, small.entries) == (20_000, 400_000, 200_000)
    assert COUNTS.shrunk(20_000) == COUNTS
