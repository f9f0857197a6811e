"""Samples and parts of graphs, which are csr arrays that store the numbers of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...error import IndexOutOfBoundsError, InvalidArgumentError
from ...ops.card import OperatorProperty
from ..ndarray import NDArray
from .arrays import CSRNDArray
from .base import make
from .parts import csr_of, filled, op

__all__ = ["GRAPHS", "adjacency", "compact", "edge_id", "neighbors", "subgraph"]

Inputs = Sequence[Any]
Out = NDArray | None


class Edges:
    """The edges of a graph on the host: numbers, where they lead to, and where those of a vertex
    begin."""

    def __init__(self, graph: CSRNDArray) -> None:
        self.numbers, self.heads, self.starts = (a.asnumpy() for a in graph.parts.exact())

    def of(self, vertex: int) -> slice:
        """Those of a vertex."""
        return slice(self.starts[vertex], self.starts[vertex + 1])


def _graph(
    rows: Sequence[tuple[Any, Any]], shape: tuple[int, int], dtype: str, like: NDArray
) -> CSRNDArray:
    """The csr array with these columns and values in its rows."""
    place = like.handle.context
    offsets = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns, stored = (
        np.concatenate([np.zeros(0, np.int64), *(row[k] for row in rows)]) for k in (0, 1)
    )
    return make(CSRNDArray, shape, dtype, place, csr_of(stored, columns, offsets, dtype, place))


def _dense(values: Any, like: NDArray, dtype: str = "int64") -> NDArray:
    return NDArray(filled(values, dtype, like.handle.context, spare=False).handle)


def _within(card: OperatorProperty, vertices: Any, count: int) -> Any:
    """Vertices that there are.

    Raises
    ------
    IndexOutOfBoundsError
        For others.
    """
    found = vertices.asnumpy().astype(np.int64)
    wrong = found[(found < 0) | (found >= count)]
    if len(wrong):
        raise IndexOutOfBoundsError(
            f"{card.name}: vertex {wrong[0]} is not in a graph of {count} vertices"
        )
    return found


def adjacency(card: OperatorProperty, inputs: Inputs, out: Out) -> Any:
    """Ones in place of the numbers of edges."""
    (graph,) = inputs
    edges, place = Edges(graph), graph.handle.context
    ones = np.ones(len(edges.heads), np.float32)
    parts = csr_of(ones, edges.heads, edges.starts, "float32", place)
    return make(CSRNDArray, graph.shape, "float32", place, parts)


def edge_id(card: OperatorProperty, inputs: Inputs, out: Out) -> NDArray:
    """The number of the edge between each pair, or -1."""
    graph, *ends = inputs
    edges = Edges(graph)
    tails, heads = (_within(card, a, n) for a, n in zip(ends, graph.shape, strict=True))
    found = np.full(len(tails), -1, edges.numbers.dtype)
    for i, (tail, head) in enumerate(zip(tails, heads, strict=True)):
        own = edges.of(tail)
        places = np.flatnonzero(edges.heads[own] == head)
        if len(places):
            found[i] = edges.numbers[own][places[0]]
    return _dense(found, graph, graph.dtype_name)


def _between(
    card: OperatorProperty, edges: Edges, rows: Any, vertices: Any, like: NDArray
) -> list[CSRNDArray]:
    """The edges from rows to vertices, with numbers of their own, and with the graph's."""
    places = {int(vertex): i for i, vertex in enumerate(vertices)}
    found = []
    for row in rows:
        own = edges.of(row)
        pairs = zip(edges.heads[own], edges.numbers[own], strict=True)
        kept = [(places[head], number) for head, number in pairs if head in places]
        found.append(tuple(np.array(kept, np.int64).reshape(-1, 2).T))
    ends = np.cumsum([0, *(len(columns) for columns, _ in found)])
    own = [
        (columns, np.arange(first, first + len(columns)))
        for (columns, _), first in zip(found, ends, strict=False)
    ]
    shape = (len(vertices), len(vertices))
    graphs = [own, found] if card.attrs["return_mapping"] else [own]
    return [_graph(rows, shape, "int64", like) for rows in graphs]


def subgraph(card: OperatorProperty, inputs: Inputs, out: Out) -> list[Any]:
    """The edges between the vertices of each list."""
    graph, *lists = inputs
    edges, found = Edges(graph), []
    for given in lists:
        vertices = _within(card, given, graph.shape[0])
        if np.any(vertices[1:] < vertices[:-1]):
            raise InvalidArgumentError(
                f"{card.name}: vertices must be in order, got {vertices[:10].tolist()}"
            )
        found.append(_between(card, edges, vertices, vertices, graph))
    return [made for kind in zip(*found, strict=True) for made in kind]


def compact(card: OperatorProperty, inputs: Inputs, out: Out) -> list[Any]:
    """The graphs of samples, without what is not in them."""
    n, found = len(inputs) // 2, []
    for graph, given, size in zip(inputs[:n], inputs[n:], card.attrs["graph_sizes"], strict=True):
        if size > min(graph.shape[0], given.shape[0]):
            raise InvalidArgumentError(
                f"{card.name}: a graph of shape {graph.shape} has no {size} vertices, as "
                "graph_sizes says"
            )
        vertices = given.asnumpy()[:size]
        found.append(_between(card, Edges(graph), range(size), vertices, graph))
    return [made for kind in zip(*found, strict=True) for made in kind]


def _some(heads: Any, most: int, weights: Any) -> Any:
    """Places of `most` of the edges, without one twice, by chance in proportion to weights."""
    if len(heads) <= most:
        return np.arange(len(heads))
    # The highest powers of uniform numbers (Efraimidis and Spirakis, 2006).
    uniform = op("_random_uniform")(low=0.0, high=1.0, shape=(len(heads),)).asnumpy()
    chances = np.ones(len(heads)) if weights is None else weights[heads].astype(np.float64)
    with np.errstate(divide="ignore"):
        keys = np.log(1.0 - uniform.astype(np.float64)) / chances
    return np.sort(np.argsort(-keys, kind="stable")[:most])


def _search(card: OperatorProperty, edges: Edges, seeds: Any, weights: Any) -> tuple[Any, Any]:
    """The hops to each vertex of a sample, and the edges that are taken from each."""
    attrs = card.attrs
    most = attrs["max_num_vertices"]
    hops = dict.fromkeys((int(v) for v in seeds[:most]), 0)
    taken: dict[int, Any] = {}
    waiting = list(hops)
    while waiting and len(hops) < most:
        vertex = waiting.pop(0)
        if hops[vertex] >= attrs["num_hops"]:
            continue
        own = edges.of(vertex)
        places = own.start + _some(edges.heads[own], attrs["num_neighbor"], weights)
        taken[vertex] = places
        for head in edges.heads[places].tolist():
            if head not in hops and len(hops) < most:
                hops[head] = hops[vertex] + 1
                waiting.append(head)
    return hops, taken


def neighbors(card: OperatorProperty, inputs: Inputs, out: Out) -> list[Any]:
    """Some of the edges around the vertices of each list."""
    weighted = card.list_arguments()[1] == "probability"
    graph, lists = inputs[0], inputs[1 + weighted :]
    weights = inputs[1].asnumpy() if weighted else None
    edges, most, found = Edges(graph), card.attrs["max_num_vertices"], []
    for given in lists:
        hops, taken = _search(card, edges, _within(card, given, graph.shape[0]), weights)
        vertices = np.array(sorted(hops), np.int64)
        spare = most - len(vertices)
        nothing = np.zeros(0, np.int64)
        rows = [taken.get(int(v), nothing) for v in vertices] + [nothing] * spare
        stored = [(edges.heads[places], edges.numbers[places]) for places in rows]
        layers = [hops[int(v)] for v in vertices]
        made = [
            _dense([*vertices, *[0] * spare, len(vertices)], graph),
            _graph(stored, (most, graph.shape[1]), "int64", graph),
            _dense([*layers, *[0] * spare], graph),
        ]
        if weights is not None:
            made.insert(2, _dense([*weights[vertices], *[0.0] * spare], graph, "float32"))
        found.append(made)
    return [made for kind in zip(*found, strict=True) for made in kind]


GRAPHS = (adjacency, compact, edge_id, neighbors, subgraph)
