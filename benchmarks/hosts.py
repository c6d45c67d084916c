"""Time, memory and traffic of large runs on several hosts, on paper, from measured constants.

A host is a machine like the one that `results/benchmarks/large.json` was measured on, two cores, in
a network of 10 Gbit/s. The work of the linear method and what every host sends are counted as the
code does them; the million-node run that was measured says how long that work takes.
"""

from collections.abc import Iterator
from typing import Any

from graphgate.compute.counts import GraphCounts, graph_bytes
from graphgate.compute.decomposition import EXTRA
from graphgate.compute.machine import format_bytes
from graphgate.linear.linear_plan import LinearPlan

SIZES = ((1_000_000, 10_000_000), (10_000_000, 100_000_000), (100_000_000, 1_000_000_000))
HOSTS = (1, 4, 16)
BANDWIDTH = 10e9 / 8  # bytes per second
EPOCH_COLUMNS = 512  # of GATE
_REPEATED = 0.3  # fraction of the measured time that more hosts do not shorten
_DENSE = 30.0  # products in dense matrices for the time of a number read in sparse ones
_STEPS = 150  # of GATE by parts, whatever the size
_PARAMETERS = 1000 * 512 + 512 * 512 + 4 * 512


def plan_of(nodes: int, edges: int) -> LinearPlan:
    return LinearPlan.of(GraphCounts.planned(nodes, edges, 1000, 0.02), 128, structure=True)


def linear_traffic(plan: LinearPlan, hosts: int) -> float:
    """Bytes that every host sends in a fit of the linear method."""
    n, sizes = plan.counts.nodes, plan.sizes
    r, d, k = sizes.coordinates, sizes.decoder_coordinates, sizes.factors + EXTRA
    away = (hosts - 1) / hosts
    states = (5 * r + 6 * d) * n / hosts * away  # a share of the columns becomes one of the rows
    factors = 2 * (4 * k + sizes.factors) * n * away  # columns that all hosts need, two times
    return 4 * (states + factors + plan.n_components * n * away)


def effort(plan: LinearPlan) -> float:
    """The work of a fit, in numbers that sparse products read."""
    work = plan.work()
    return work.sparse + work.gathered + work.dense / _DENSE


def linear_seconds(plan: LinearPlan, hosts: int, measured: dict[str, Any]) -> float:
    """Work that hosts share, work that each of them does, and traffic."""
    reference = plan_of(measured["nodes"], measured["edges"])
    # Reading, normalizing and orthonormalizing are done by all hosts.
    share = (1 - _REPEATED) / hosts + _REPEATED
    grown = effort(plan) / effort(reference)
    return measured["seconds"] * grown * share + linear_traffic(plan, hosts) / BANDWIDTH


def linear_memory(plan: LinearPlan) -> int:
    return plan.bytes + graph_bytes(plan.counts)


def epoch_traffic(nodes: int, edges: int, hosts: int) -> float:
    """Bytes that every host sends in an epoch of exact GATE, split by columns."""
    away = (hosts - 1) / hosts
    columns = 2 * nodes * EPOCH_COLUMNS / hosts * away  # Q to rows and back
    values = 2 * 4 * (2 * edges + nodes) * away  # edge dots and the gradients of attention, summed
    return 4 * (columns + values + 2 * _PARAMETERS * away)


def rows(measured: dict[str, Any]) -> Iterator[list[str]]:
    """Sizes and numbers of hosts, and what they need, by a run of a million nodes on one host."""
    for nodes, edges in SIZES:
        plan = plan_of(nodes, edges)
        for hosts in HOSTS:
            yield [
                f"{nodes / 1e6:,.0f} M / {edges / 1e6:,.0f} M",
                str(hosts),
                f"{linear_seconds(plan, hosts, measured) / 60:,.0f} min",
                format_bytes(linear_memory(plan)),
                format_bytes(linear_traffic(plan, hosts)),
                format_bytes(_STEPS * 4 * _PARAMETERS * (hosts - 1)),
                format_bytes(epoch_traffic(nodes, edges, hosts)),
            ]
