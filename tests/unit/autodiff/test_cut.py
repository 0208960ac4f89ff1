"""The minimum cut against all cuts of small random networks."""

from __future__ import annotations

from itertools import combinations
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from mlirad.autodiff.tape.decision.cut import Network

NODES = range(4)
names = st.sampled_from(["s", *NODES, "t"])
capacities = st.sampled_from([0.5, 1.0, 2.0, 3.0, 5.0, inf])
edges = st.lists(st.tuples(names, names, capacities).filter(lambda edge: edge[0] != edge[1]), max_size=14)


def cost(side: set, graph: list) -> float:
    return sum(capacity for start, end, capacity in graph if start in side and end not in side)


@given(edges)
def test_no_cut_is_cheaper(graph: list) -> None:
    network = Network("s", "t")
    for start, end, capacity in graph:
        network.edge(start, end, capacity)
    cheapest = min(
        cost({"s", *chosen}, graph) for count in range(len(NODES) + 1) for chosen in combinations(NODES, count)
    )
    side = network.cut()
    if side is None:
        assert cheapest == inf
    else:
        assert "t" not in side and cost(side, graph) == cheapest


def test_a_flow_that_must_be_rerouted() -> None:
    """The first shortest path may use an edge that the maximum flow does not use."""
    network = Network("s", "t")
    for start, end in (("s", "a"), ("s", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("c", "t"), ("d", "e"), ("e", "t")):
        network.edge(start, end, 1.0)
    graph = [("s", "a", 1.0), ("s", "b", 1.0)]
    side = network.cut()
    assert side == {"s"} and cost(side, graph) == 2.0


def test_an_infinite_path_has_no_cut() -> None:
    network = Network("s", "t")
    network.edge("s", "a", inf)
    network.edge("a", "t", inf)
    assert network.cut() is None
