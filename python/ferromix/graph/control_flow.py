"""Loops and branches: operators that run graphs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from ..ops.card import MaybeShape, merge_shapes, register
from ..ops.own import STATE
from ..ops.param import Param, Params
from .subgraph import MOST, ControlFlow, Subgraph, locations, run_by

__all__ = ["Cond", "ControlFlow", "ForEach", "WhileLoop", "run_by"]


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
        "in_data_locs": locations("The inputs of the subgraph that are rows of the data."),
        "in_state_locs": locations("Those that are states."),
        "remain_locs": locations("All others."),
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
        "cond_input_locs": locations("The inputs that the condition reads."),
        "func_input_locs": locations("The inputs that the body reads."),
        "func_var_locs": locations("The inputs of the body that are states."),
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
        "cond_input_locs": locations("The inputs that the condition reads."),
        "then_input_locs": locations("The inputs that the first branch reads."),
        "else_input_locs": locations("The inputs that the other branch reads."),
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
