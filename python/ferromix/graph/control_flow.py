"""Loops and branches: operators that run graphs of their own.

A card has the graphs, each as an operator (:class:`.operator.GraphOperator`), and says which of its
own inputs are theirs. How they are run is entered by :func:`run_by`, as it needs arrays and a tape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from ..context import Context
from ..error import InvalidArgumentError
from ..ops.card import MaybeShape, merge_shapes, register
from ..ops.own import STATE, Desc, OwnOperator, Run
from ..ops.param import Param, Params
from .node import Entry, mutated_variables, topological, variables
from .operator import GraphOperator

__all__ = ["Cond", "ControlFlow", "ForEach", "WhileLoop", "run_by"]

MOST = 65536
"""The most inputs of a graph."""

_RUNNERS: dict[str, Callable[..., Any]] = {}


def run_by(runners: Mapping[str, Callable[..., Any]]) -> None:
    """Enters what runs the operators: from a card an object with ``forward`` and ``backward``."""
    _RUNNERS.update(runners)


def _places(doc: str) -> Param:
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

    def __init__(self, heads: Sequence[Entry]) -> None:
        self.heads = list(heads)
        self.operator = GraphOperator(heads)
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
        self.subgraphs = [Subgraph(heads) for heads in subgraphs]
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


class _Loop(ControlFlow):
    """The base of loops: outputs of steps are joined, then the last states follow."""

    def check(self) -> None:
        """Also counts the outputs."""
        super().check()
        out, count = self.attrs["num_out_data"], self.attrs["num_outputs"]
        body = self.subgraphs[-1]
        if not 0 <= out <= count or count - out != len(self.state_places) or count < 1:
            raise self.unfit(f"num_outputs={count} and num_out_data={out} do not fit the states")
        if len(body.heads) != count:
            raise self.unfit(f"num_outputs={count}, but the subgraph has {len(body.heads)}")

    @property
    def state_places(self) -> Sequence[int]:
        """The places of the states among the inputs of the body."""
        raise NotImplementedError

    def steps(self, in_shapes: Sequence[MaybeShape]) -> int:
        """The extent of joined outputs; -1 where it is not known."""
        raise NotImplementedError

    def sliced(self) -> Sequence[int]:
        """The places of the inputs of which each step gets a row."""
        return ()

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What follows from the graphs; states keep their shape."""
        known = list(in_shapes)
        sliced, steps = set(self.sliced()), self.steps(in_shapes)
        outs: list[MaybeShape] = []
        for graph, places in self.readings():
            given = [self._row(known[p]) if p in sliced else known[p] for p in places]
            found, outs, _ = graph.operator.infer_shape(given)
            for place, shape in zip(places, found, strict=True):
                whole = (steps, *shape) if place in sliced and shape is not None else shape
                self.merge(known, place, whole)
        body, count = self.readings()[-1], self.attrs["num_out_data"]
        joined = [None if s is None else (steps, *s) for s in outs[:count]]
        states = [
            merge_shapes(self.name, f"data{body[1][p]}", shape, known[body[1][p]])
            for p, shape in zip(self.state_places, outs[count:], strict=True)
        ]
        for p, shape in zip(self.state_places, states, strict=True):
            self.merge(known, body[1][p], shape)
        return known, [*joined, *states, STATE[0]], []

    def _row(self, shape: MaybeShape) -> MaybeShape:
        if shape == ():
            raise self.unfit("the data of a loop need a dimension, got shape ()")
        return None if shape is None else shape[1:]

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """What follows from the graphs."""
        known, outs = list(in_types), list[str | None]()
        for graph, places in self.readings():
            found, outs, _ = graph.operator.infer_type([known[p] for p in places])
            for place, dtype in zip(places, found, strict=True):
                self.merge(known, place, dtype)
        return known, [*outs, STATE[1]], []


@register
class ForEach(_Loop):
    """A graph for each row of the data, in order; see ``mx.sym.contrib.foreach``."""

    name = "_foreach"
    graph_count = 1
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs and the subgraph."),
        "num_outputs": Param("int", doc="The number of outputs.", high=MOST),
        "num_out_data": Param("int", doc="How many of them are joined outputs of all steps."),
        "in_data_locs": _places("The inputs of the subgraph that are rows of the data."),
        "in_state_locs": _places("Those that are states."),
        "remain_locs": _places("All others."),
    }

    @cached_property
    def places(self) -> list[int]:
        """For each input of the subgraph its place among the inputs."""
        attrs = self.attrs
        order = [*attrs["in_data_locs"], *attrs["in_state_locs"], *attrs["remain_locs"]]
        if sorted(order) != list(range(self.input_count)):
            raise self.unfit("in_data_locs, in_state_locs and remain_locs do not name each input")
        found = {loc: place for place, loc in enumerate(order)}
        return [found[loc] for loc in range(self.input_count)]

    def readings(self) -> list[tuple[Subgraph, Sequence[int]]]:
        """The body's inputs in another order."""
        return [(self.subgraphs[0], self.places)]

    def place_names(self) -> list[str]:
        """All three."""
        return ["in_data_locs, in_state_locs, remain_locs"]

    @property
    def state_places(self) -> Sequence[int]:
        """What the attribute says."""
        return self.attrs["in_state_locs"]

    def sliced(self) -> Sequence[int]:
        """The data come first."""
        return range(len(self.attrs["in_data_locs"]))

    def check(self) -> None:
        """There is something to loop over."""
        super().check()
        if not self.attrs["in_data_locs"]:
            raise self.unfit("there are no data to loop over")

    def steps(self, in_shapes: Sequence[MaybeShape]) -> int:
        """The rows of the data."""
        found = -1
        for place in self.sliced():
            shape = in_shapes[place]
            rows = shape[0] if shape else -1
            if found >= 0 and rows >= 0 and rows != found:
                raise self.unfit(f"data have {found} and {rows} rows; all must have as many")
            found = max(found, rows)
        return found


@register
class WhileLoop(_Loop):
    """A graph as long as another one gives true; see ``mx.sym.contrib.while_loop``."""

    name = "_while_loop"
    graph_count = 2
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs and both subgraphs."),
        "num_outputs": Param("int", doc="The number of outputs.", high=MOST),
        "num_out_data": Param("int", doc="How many of them are joined outputs of all steps."),
        "max_iterations": Param("int", doc="The most steps.", low=0),
        "cond_input_locs": _places("The inputs that the condition reads."),
        "func_input_locs": _places("The inputs that the body reads."),
        "func_var_locs": _places("The inputs of the body that are states."),
    }

    def readings(self) -> list[tuple[Subgraph, Sequence[int]]]:
        """The condition's inputs, and the body's."""
        attrs = self.attrs
        return list(
            zip(self.subgraphs, (attrs["cond_input_locs"], attrs["func_input_locs"]), strict=True)
        )

    def place_names(self) -> list[str]:
        """One for each graph."""
        return ["cond_input_locs", "func_input_locs"]

    @property
    def state_places(self) -> Sequence[int]:
        """What the attribute says."""
        return self.attrs["func_var_locs"]

    def check(self) -> None:
        """The condition is one number, and states are inputs of the body."""
        super().check()
        for place in self.state_places:
            if not 0 <= place < len(self.subgraphs[1]):
                raise self.unfit(f"func_var_locs names input {place} of the body")
        if len(self.subgraphs[0].heads) != 1:
            raise self.unfit("the subgraph of the condition must have one output")

    def steps(self, in_shapes: Sequence[MaybeShape]) -> int:
        """What the attribute says."""
        return self.attrs["max_iterations"]


@register
class Cond(ControlFlow):
    """One of two graphs; see ``mx.sym.contrib.cond``."""

    name = "_cond"
    graph_count = 3
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs and all three subgraphs."),
        "num_outputs": Param("int", doc="The number of outputs.", high=MOST),
        "cond_input_locs": _places("The inputs that the condition reads."),
        "then_input_locs": _places("The inputs that the first branch reads."),
        "else_input_locs": _places("The inputs that the other branch reads."),
    }

    def readings(self) -> list[tuple[Subgraph, Sequence[int]]]:
        """The condition's inputs, and the branches'."""
        return list(
            zip(self.subgraphs, (self.attrs[name] for name in self.place_names()), strict=True)
        )

    def place_names(self) -> list[str]:
        """One for each graph."""
        return ["cond_input_locs", "then_input_locs", "else_input_locs"]

    def check(self) -> None:
        """The branches have the same outputs."""
        super().check()
        count = self.attrs["num_outputs"]
        counts = [len(graph.heads) for graph in self.subgraphs]
        if count < 1 or counts != [1, count, count]:
            raise self.unfit(f"num_outputs={count}, but the subgraphs have {counts} outputs")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What follows from the graphs; both branches give the same shapes."""
        known, outs = list(in_shapes), list[MaybeShape]([None] * self.visible)
        for graph, places in self.readings():
            found, given, _ = graph.operator.infer_shape([known[p] for p in places])
            for place, shape in zip(places, found, strict=True):
                self.merge(known, place, shape)
            if graph is not self.subgraphs[0]:
                pairs = zip(self.output_list, outs, given, strict=True)
                outs = [merge_shapes(self.name, *pair) for pair in pairs]
        return known, [*outs, STATE[0]], []

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """What follows from the graphs; both branches give the same types."""
        known, outs = list(in_types), list[str | None]([None] * self.visible)
        for graph, places in self.readings():
            found, given, _ = graph.operator.infer_type([known[p] for p in places])
            for place, dtype in zip(places, found, strict=True):
                self.merge(known, place, dtype)
            if graph is self.subgraphs[0]:
                continue
            for name, one, other in zip(self.output_list, outs, given, strict=True):
                if one and other and one != other:
                    raise self.unfit(f"'{name}' is {one} in one branch and {other} in the other")
            outs = [one or other for one, other in zip(outs, given, strict=True)]
        return known, [*outs, STATE[1]], []
