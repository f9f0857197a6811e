"""A whole graph as one operator, made of those of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from ..ops.card import make
from ..ops.composed import Composed, Composition, Part
from ..ops.param import Param
from .node import Entry, entry_name, topological, variables

__all__ = ["GraphOperator"]

MOST = 65536
"""The most inputs that flags may name."""


class GraphOperator(Composed):
    """The operator that computes the outputs of a graph from its variables.

    Its inputs are the variables, auxiliary states among them, in topological order. The parts are
    run, recorded and differentiated one by one, so it has every property that they have.

    Parameters
    ----------
    heads
        The outputs.
    **flags
        How MXNet is to run such an operator. They are checked, and say nothing here: memory always
        comes from the pool, and what depends on shapes is always remembered.

    Raises
    ------
    InvalidArgumentError
        For an unknown flag, or a value that it does not take.
    """

    name = "CachedOp"
    hidden: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Param]] = {
        "static_alloc": Param("bool", False, doc="whether memory stays between calls"),
        "static_shape": Param("bool", False, doc="whether shapes stay; needs static_alloc"),
        "inline_limit": Param("int", 2, doc="how many operators may be inlined"),
        "forward_bulk_size": Param("int", 15, doc="how many operators are joined"),
        "backward_bulk_size": Param("int", 15, doc="how many operators are joined going back"),
        "data_indices": Param("shape", (), doc="which inputs are data", most=MOST),
        "param_indices": Param("shape", (), doc="which inputs are parameters", most=MOST),
        "subgraph": Param("str", "", doc="the name of the graph"),
        "is_dynamic": Param("bool", False, doc="whether shapes depend on values"),
    }

    def __init__(self, heads: Sequence[Entry], **flags: Any) -> None:
        super().__init__(**flags)
        if self.attrs["static_shape"] and not self.attrs["static_alloc"]:
            raise InvalidArgumentError(f"{self.name}: static_shape needs static_alloc, too")
        nodes = topological(heads)
        inputs = variables(nodes)
        self._inputs = [n.name for n in inputs]
        self._results = [entry_name(e) for e in heads]
        numbers = {Entry(n, 0): i for i, n in enumerate(inputs)}
        parts: list[Part] = []
        for node in nodes:
            if node.op is not None:
                reads = tuple(numbers[e] for e in node.inputs)
                gives = tuple(range(len(numbers), len(numbers) + node.num_outputs))
                numbers.update(zip(node.outputs(), gives, strict=True))
                parts.append(Part(node.op, reads, gives))
        size = len(numbers)
        outputs: list[int] = []
        for entry in heads:
            number = numbers[entry]
            if number < len(inputs) or number in outputs:
                parts.append(Part(make("_copy", {}), (number,), (size,)))
                number, size = size, size + 1
            outputs.append(number)
        self.composition = Composition(tuple(parts), tuple(outputs), size)
        self.by_values = any(part.card.by_values for part in parts)

    def list_arguments(self) -> list[str]:
        """The names of the variables."""
        return list(self._inputs)

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return list(self._results)

    def check_dtype(self, dtype: str, argument: str | None = None) -> None:
        """The parts claim types, each for itself."""
