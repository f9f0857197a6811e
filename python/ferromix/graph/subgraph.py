"""Operators that run graphs of their own.

A card has the graphs, each as an operator (:class:`.operator.GraphOperator`), and says which of its
own inputs are theirs. How they are run is entered by :func:`run_by`, as it needs arrays and a tape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from ..context import Context
from ..error import InvalidArgumentError
from ..ops.card import MaybeShape, merge_shapes
from ..ops.own import Desc, OwnOperator, Run
from ..ops.param import Param
from .node import Entry, mutated_variables, topological, variables
from .operator import GraphOperator

__all__ = ["MOST", "ControlFlow", "Subgraph", "locations", "run_by"]

MOST = 65536
"""The most inputs of a graph."""

_RUNNERS: dict[str, Callable[..., Any]] = {}


def run_by(runners: Mapping[str, Callable[..., Any]]) -> None:
    """Enters what runs the operators: from a card an object with ``forward`` and ``backward``."""
    _RUNNERS.update(runners)


def locations(doc: str) -> Param:
    """An attribute that names inputs."""
    return Param("shape", doc=doc, most=MOST)


class Subgraph:
    """A graph of a control flow operator.

    Attributes
    ----------
    heads
        Its outputs.
    operator
        The operator that computes them.
    changed
        Which of its inputs it changes.
    """

    def __init__(self, heads: Sequence[Entry], name: str) -> None:
        self.heads = list(heads)
        self.operator = GraphOperator(heads)
        self.operator.name = name  # type: ignore[misc] - what errors call it
        nodes = topological(heads)
        mutated = mutated_variables(nodes)
        self.changed = [i for i, n in enumerate(variables(nodes)) if n in mutated]

    def __len__(self) -> int:
        return len(self.operator.list_arguments())


class ControlFlow(OwnOperator):
    """The base: names, inference and memory, from the graphs and what their inputs are.

    Parameters
    ----------
    subgraphs
        The outputs of each graph.
    **attrs
        The attributes.

    Raises
    ------
    InvalidArgumentError
        Graphs or places of inputs that do not fit each other.
    """

    hidden: ClassVar[bool] = True
    variadic: ClassVar[str | None] = "num_args"
    graph_count: ClassVar[int]
    """How many graphs there are."""

    def __init__(self, subgraphs: Sequence[Sequence[Entry]] = (), **attrs: Any) -> None:
        super().__init__(**attrs)
        # In MXNet's spelling of lists.
        for key, value in self.given.items():
            if isinstance(value, tuple):
                self.given[key] = f"[{', '.join(map(str, value))}]"
        if isinstance(subgraphs, str) or len(subgraphs) != self.graph_count:
            raise self.unfit(f"takes {self.graph_count} subgraphs, got {len(subgraphs)}")
        self.subgraphs = [Subgraph(heads, self.name) for heads in subgraphs]
        self.input_count: int = self.attrs["num_args"] - self.graph_count
        if not 0 <= self.input_count <= MOST:
            raise self.unfit(f"num_args={self.attrs['num_args']} is no number of inputs")
        self.check()

    def unfit(self, problem: str) -> InvalidArgumentError:
        """The error for a card that contradicts itself."""
        return InvalidArgumentError(f"{self.name}: {problem}")

    def check(self) -> None:
        """Raises where the places of inputs do not fit the graphs."""
        for (graph, places), name in zip(self.readings(), self.place_names(), strict=True):
            if len(places) != len(graph):
                raise self.unfit(
                    f"{name} names {len(places)} inputs of a subgraph that has {len(graph)}"
                )
            for place in places:
                if not 0 <= place < self.input_count:
                    raise self.unfit(f"{name} names input {place} of {self.input_count}")

    def readings(self) -> list[tuple[Subgraph, Sequence[int]]]:
        """The graphs, and for each of their inputs its place among the operator's."""
        raise NotImplementedError

    def place_names(self) -> list[str]:
        """The attributes that say so."""
        raise NotImplementedError

    @classmethod
    def count_inputs(cls, inputs: int) -> int:
        """MXNet counts the subgraphs, too."""
        return inputs + cls.graph_count

    # -- what operators of one's own are asked -------------------------------------------------

    def new_property(self) -> Any:
        """There is none: the card knows everything."""
        return None

    def shapes_by(
        self, made: Any, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What follows from the graphs."""
        return self.infer_shape(in_shapes)

    def types_by(
        self, made: Any, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """What follows from the graphs."""
        return self.infer_type(in_types)

    @cached_property
    def argument_list(self) -> tuple[str, ...]:
        """The inputs have numbers."""
        return tuple(f"data{i}" for i in range(self.input_count))

    @cached_property
    def output_list(self) -> tuple[str, ...]:
        """The outputs have numbers where there are several."""
        count = self.attrs["num_outputs"]
        return tuple(f"output{i}" for i in range(count)) if count != 1 else ("output",)

    @cached_property
    def state_list(self) -> tuple[str, ...]:
        """None: what a graph changes is an argument in MXNet."""
        return ()

    @cached_property
    def visible(self) -> int:
        """All outputs."""
        return len(self.output_list)

    @cached_property
    def dependencies(self) -> frozenset[int]:
        """The gradient may have to run forward again."""
        return frozenset(range(self.visible + self.input_count))

    @cached_property
    def changed(self) -> list[int]:
        """The inputs that some graph changes."""
        found = {p[i] for graph, p in self.readings() for i in graph.changed}
        return sorted(found)

    def mutated_inputs(self) -> list[int]:
        """Such as moving averages."""
        return self.changed

    def inplace_options(self) -> list[tuple[int, int]]:
        """None."""
        return []

    def pairs(self, method: str, inputs: int, outputs: int, *args: Any) -> list[tuple[int, int]]:
        """None."""
        return []

    def create(self, made: Any, context: Context, arguments: Sequence[Desc], aux: Any) -> Any:
        """What runs the graphs, and remembers for the gradient."""
        return _RUNNERS[self.name](self)

    def run_forward(self, operator: Any, run: Run) -> None:
        """Runs the graphs."""
        operator.forward(run)

    def run_backward(self, operator: Any, run: Run) -> None:
        """Goes back through what forward ran."""
        operator.backward(run)

    # -- inference -----------------------------------------------------------------------------

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Nothing more."""
        return list(in_shapes)

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """Nothing more."""
        return list(in_types)

    def merge(self, known: list[Any], place: int, found: Any) -> None:
        """Notes what was found of an input."""
        if isinstance(found, tuple):
            known[place] = merge_shapes(self.name, f"data{place}", known[place], found)
        elif found is not None:
            known[place] = found
