"""Graphs as csr arrays, whose stored values are the numbers of edges: samples and parts of them.

Only csr arrays are graphs; what is computed is in :mod:`ferromix.ndarray.sparse.graphs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from ..literal import MOST
from .card import Claims, MaybeShape, OperatorProperty, merge_shapes, register
from .family import NUMBERS, Types, numbered_outputs
from .param import Param, Params
from .shapes import require_rank
from .storage import CSR, DENSE

__all__ = ["Adjacency", "Compact", "EdgeId", "Graph", "Sample", "SampleByWeight", "Subgraph"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]


class Graph(OperatorProperty):
    """The base of operators on graphs. Nothing flows back, and dense arrays are refused."""

    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = ("int64",)
    kernel: ClassVar[str | None] = "_needs_csr"
    graphs: ClassVar[int] = 1
    """How many of the first inputs are graphs."""

    def infer_storage_type(
        self, in_stypes: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Graphs are csr arrays."""
        n = len(in_stypes) - self.graphs
        return [*[CSR] * self.graphs, *[DENSE] * n], self.stored(), []

    def stored(self) -> list[str]:
        """The storage types of the outputs."""
        return [DENSE] * len(self.list_outputs())

    def rank(self, name: str, given: MaybeShape, rank: int) -> MaybeShape:
        """A shape, whose rank is checked."""
        if given is not None:
            require_rank(self.name, name, given, rank, "a graph" if rank == 2 else "vertices")
        return given


@register
class EdgeId(Graph):
    """The numbers of the edges between pairs of vertices.

    Formula: ``out[i] = data[u[i], v[i]]`` if that is stored, else -1. Shapes: ``data`` is a csr
    array ``(n, m)``, ``u``, ``v`` and ``out`` are ``(k,)``. Types: numbers; ``out`` has that of
    ``data``.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> graph = mx.nd.array([[1, 0], [0, 2]]).tostype("csr")
    >>> u, v = mx.nd.array([0, 1, 1]), mx.nd.array([0, 0, 1])
    >>> print(mx.nd.contrib.edge_id(graph, u, v).asnumpy())
    [ 1. -1.  2.]
    """

    name = "_contrib_edge_id"
    arguments = ("data", "u", "v")
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    argument_dtypes: ClassVar[Claims] = {"u": NUMBERS, "v": NUMBERS}

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """A number for each pair."""
        data = self.rank("data", in_shapes[0], 2)
        pairs = merge_shapes(self.name, "v", in_shapes[2], self.rank("u", in_shapes[1], 1))
        return [data, pairs, pairs], [self.rank("v", pairs, 1)], []


@register
class Adjacency(Graph):
    """A graph with 1 for each edge in place of its number.

    Formula: ``out`` stores 1 where ``data`` stores something. Shapes: alike. Types: int64; ``out``
    is float32. Gradient: none, nothing flows back.

    Examples
    --------
    >>> graph = mx.nd.array([[3, 0], [0, 2]], dtype="int64").tostype("csr")
    >>> print(mx.nd.contrib.dgl_adjacency(graph).asnumpy())
    [[1. 0.]
     [0. 1.]]
    """

    name = "_contrib_dgl_adjacency"

    def stored(self) -> list[str]:
        """A graph."""
        return [CSR]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Ones are real numbers."""
        return list(in_types), ["float32"], []


class Several(Graph):
    """The base of operators on any number of inputs; `lists` are the kinds of outputs, one for
    each."""

    variadic: ClassVar[str | None] = "num_args"
    lists: ClassVar[tuple[str, ...]] = ()
    leading: ClassVar[tuple[str, ...]] = ("graph",)
    """The inputs before those that there may be any number of."""
    count: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs.", low=1, high=MOST)
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.number() < 1:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'num_args' must be more than {len(self.leading)}, got "
                f"{self.attrs['num_args']}"
            )

    def number(self) -> int:
        """How many inputs are vertices."""
        return self.attrs["num_args"] - len(self.leading)

    def list_arguments(self) -> list[str]:
        """The graph, then vertices."""
        return [*self.leading, *(f"vertices{i}" for i in range(self.number()))]

    def list_outputs(self) -> list[str]:
        """Those of one kind after the other."""
        return numbered_outputs(len(self.kinds()) * self.number())

    def kinds(self) -> Sequence[str]:
        """What there is of each output."""
        return self.lists

    def stored(self) -> list[str]:
        """Graphs are csr arrays."""
        found = (CSR if kind == "graph" else DENSE for kind in self.kinds())
        return [stype for stype in found for _ in range(self.number())]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Numbers of edges and vertices, and weights."""
        kinds = ["float32" if kind == "weight" else "int64" for kind in self.kinds()]
        found: list[str | None] = [dtype for dtype in kinds for _ in range(self.number())]
        names = self.list_arguments()
        return [self._claimed(name)[0] for name in names], found, []


@register
class Subgraph(Several):
    """The edges between given vertices of a graph.

    Formula: for each list of vertices, which must be in order, ``out`` stores the number of an
    edge, from 0 on, in place ``i, j`` if ``graph`` stores something in place ``vertices[i],
    vertices[j]``. With ``return_mapping`` such with the numbers that the graph stores follow.
    Shapes: ``graph`` is a csr array ``(n, n)``, each list ``(k,)``, its results are ``(k, k)``.
    Types: int64. Gradient: none, nothing flows back.

    Examples
    --------
    >>> graph = mx.nd.array([[0, 5], [7, 0]], dtype="int64").tostype("csr")
    >>> vertices, attrs = mx.nd.array([0, 1], dtype="int64"), {"return_mapping": True}
    >>> print(mx.nd.contrib.dgl_subgraph(graph, vertices, **attrs)[1].asnumpy())
    [[0 5]
     [7 0]]
    """

    name = "_contrib_dgl_subgraph"
    params: ClassVar[Params] = {
        **Several.count,
        "return_mapping": Param("bool", doc="Whether there are outputs with the graph's numbers."),
    }

    def kinds(self) -> Sequence[str]:
        """One graph or two."""
        return ("graph", "graph") if self.attrs["return_mapping"] else ("graph",)

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """As many rows and columns as vertices."""
        self.rank("graph", in_shapes[0], 2)
        lists = [self.rank("vertices", given, 1) for given in in_shapes[1:]]
        outs: list[MaybeShape] = [None if n is None else (n[0], n[0]) for n in lists]
        return list(in_shapes), outs * len(self.kinds()), []


_SAMPLE = {
    **Several.count,
    "num_hops": Param("int", 1, "How far a vertex may be from the first ones.", low=0),
    "num_neighbor": Param("int", 2, "The most edges that are taken from a vertex.", low=0),
    "max_num_vertices": Param("int", 100, "The most vertices of a sample.", low=1),
}


@register
class Sample(Several):
    """Samples of a graph: from given vertices, some edges of each, and so on from where they lead.

    Formula: for each list of vertices a search in breadth, of ``num_hops``, that takes all edges of
    a vertex, or ``num_neighbor`` of them by chance, and ends at ``max_num_vertices``. The outputs
    are, for each list, the vertices in order, zeros and how many they are; a graph whose row ``i``
    has the edges that were taken from vertex ``i`` of those; and from how many hops away each is,
    then zeros.
    Shapes: ``graph`` is a csr array ``(n, n)``, each list ``(k,)``; with ``m`` for
    ``max_num_vertices`` the outputs are ``(m + 1,)``, ``(m, n)`` and ``(m,)``. Types: int64.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> graph = mx.nd.array([[0, 5], [7, 0]], dtype="int64").tostype("csr")
    >>> vertices, attrs = mx.nd.array([0], dtype="int64"), {"max_num_vertices": 3}
    >>> found = mx.nd.contrib.dgl_csr_neighbor_uniform_sample(graph, vertices, **attrs)
    >>> print(found[0].asnumpy(), found[2].asnumpy())
    [0 1 0 2] [0 1 0]
    """

    name = "_contrib_dgl_csr_neighbor_uniform_sample"
    lists: ClassVar[tuple[str, ...]] = ("vertices", "graph", "layer")
    params: ClassVar[Params] = _SAMPLE

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Room for all that there may be."""
        graph = self.rank("graph", in_shapes[0], 2)
        for name, given in zip(self.list_arguments()[1:], in_shapes[1:], strict=True):
            self.rank(name, given, 1)
        most = self.attrs["max_num_vertices"]
        rows: MaybeShape = (most, -1 if graph is None else graph[1])
        shapes = {"vertices": (most + 1,), "graph": rows}
        found = [shapes.get(kind, (most,)) for kind in self.kinds() for _ in range(self.number())]
        return list(in_shapes), found, []


@register
class SampleByWeight(Sample):
    """Samples of a graph in which some vertices are more likely than others.

    Formula: that of `dgl_csr_neighbor_uniform_sample`, where an edge is taken with a probability in
    proportion to the weight of the vertex that it leads to. The weights of the vertices found, then
    zeros, are outputs between those of graphs and of hops.
    Shapes: those, with ``(n,)`` for ``probability`` and ``(m,)`` for weights. Types: int64; weights
    are float32. Gradient: none, nothing flows back.

    Examples
    --------
    >>> graph = mx.nd.array([[0, 5], [7, 0]], dtype="int64").tostype("csr")
    >>> vertices, weights = mx.nd.array([0], dtype="int64"), mx.nd.array([0.5, 2])
    >>> sample = mx.nd.contrib.dgl_csr_neighbor_non_uniform_sample
    >>> print(sample(graph, weights, vertices, max_num_vertices=3)[2].asnumpy())
    [0.5 2.  0. ]
    """

    name = "_contrib_dgl_csr_neighbor_non_uniform_sample"
    lists: ClassVar[tuple[str, ...]] = ("vertices", "graph", "weight", "layer")
    leading: ClassVar[tuple[str, ...]] = ("graph", "probability")

    def _claimed(self, argument: str) -> tuple[str, ...]:
        return ("float32",) if argument == "probability" else super()._claimed(argument)


@register
class Compact(Several):
    """Graphs of samples, without rows and columns for vertices that are not in them.

    Formula: for each graph of a sample and its vertices, of which the first ``graph_sizes`` count,
    ``out`` stores the number of an edge, from 0 on, in place ``i, j`` if row ``i`` of the graph
    stores something in column ``vertices[j]``. With ``return_mapping`` such with the numbers that
    the graph stores follow.
    Shapes: of ``2 * k`` inputs the first are csr arrays ``(m, n)``, the others ``(m + 1,)``; the
    outputs are square, of extent ``graph_sizes``. Types: int64.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> graph = mx.nd.array([[0, 5, 6], [0, 0, 0]], dtype="int64").tostype("csr")
    >>> vertices = mx.nd.array([0, 2, 0], dtype="int64")
    >>> attrs = {"graph_sizes": (2,), "return_mapping": True}
    >>> print(mx.nd.contrib.dgl_graph_compact(graph, vertices, **attrs)[1].asnumpy())
    [[0 6]
     [0 0]]
    """

    name = "_contrib_dgl_graph_compact"
    params: ClassVar[Params] = {
        **Several.count,
        "return_mapping": Param("bool", doc="Whether there are outputs with the graphs' numbers."),
        "graph_sizes": Param("shape", doc="How many vertices each graph has.", low=0, most=MOST),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        n = self.attrs["num_args"]
        if n % 2 or len(self.attrs["graph_sizes"]) != self.number():
            raise InvalidArgumentError(
                f"{self.name}: there must be as many lists of vertices and sizes as graphs, got "
                f"num_args={n} and graph_sizes={self.attrs['graph_sizes']}"
            )

    def number(self) -> int:
        """One half of the inputs are graphs."""
        return self.attrs["num_args"] // 2

    def list_arguments(self) -> list[str]:
        """Graphs, then their vertices."""
        kinds = ("graph", "vertices")
        return [f"{kind}{i}" for kind in kinds for i in range(self.number())]

    def kinds(self) -> Sequence[str]:
        """One graph or two."""
        return ("graph", "graph") if self.attrs["return_mapping"] else ("graph",)

    def infer_storage_type(
        self, in_stypes: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """The first half are csr arrays."""
        n = self.number()
        return [*[CSR] * n, *[DENSE] * n], self.stored(), []

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """The sizes that are given."""
        n = self.number()
        for i, given in enumerate(in_shapes):
            self.rank(self.list_arguments()[i], given, 2 if i < n else 1)
        outs: list[MaybeShape] = [(size, size) for size in self.attrs["graph_sizes"]]
        return list(in_shapes), outs * len(self.kinds()), []
