"""What a translation works with: one node of an ONNX graph, and the symbols of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ...error import FileFormatError, InvalidArgumentError
from ...symbol import Symbol
from ...symbol.create import call

__all__ = ["TABLE", "Reading", "Translation", "Use", "Value", "reads"]

Value = Symbol | np.ndarray
"""What a name of the graph stands for: a symbol, or a constant."""


class Reading(Protocol):
    """What a use asks the graph that is being read."""

    opset: int

    def variable(self, name: str, value: np.ndarray) -> Symbol:
        """A constant as a variable, whose value becomes a parameter."""
        ...

    def shape(self, symbol: Symbol) -> tuple[int, ...] | None:
        """A symbol's shape, -1 where an extent is not known; None where the rank is not."""
        ...


class Use:
    """One node of an ONNX graph.

    Attributes
    ----------
    kind, name, opset
        The operator of ONNX, what the node is called, the version of the operators.
    """

    def __init__(
        self,
        reading: Reading,
        kind: str,
        name: str,
        inputs: Sequence[tuple[str, Value | None]],
        attrs: dict[str, Any],
        outputs: int,
    ) -> None:
        self.kind = kind
        self.name = name
        self.opset = reading.opset
        self.attrs = attrs
        self.outputs = outputs
        self._inputs = inputs
        self._reading = reading
        self._made = 0

    # -- what is given -------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._inputs)

    def has(self, i: int) -> bool:
        """Whether input `i` is given."""
        return i < len(self._inputs) and self._inputs[i][1] is not None

    def symbol(self, i: int = 0) -> Symbol:
        """Input `i` as a symbol; a constant becomes a parameter."""
        name, value = self._given(i)
        return value if isinstance(value, Symbol) else self._reading.variable(name, value)

    def symbols(self) -> list[Symbol]:
        """All inputs as symbols."""
        return [self.symbol(i) for i in range(len(self))]

    def is_constant(self, i: int) -> bool:
        """Whether the value of input `i` is known."""
        return self.has(i) and isinstance(self._inputs[i][1], np.ndarray)

    def constant(self, i: int) -> np.ndarray:
        """The value of input `i`, which must be known."""
        name, value = self._given(i)
        if isinstance(value, Symbol):
            raise self.error(
                f"input '{name}' must be a constant; where it follows from shapes, the shapes of "
                "the model's inputs must be fixed"
            )
        return value

    def ints(self, i: int, attr: str | None = None) -> list[int] | None:
        """Numbers that are an input, or an attribute in older versions; None where left out."""
        if self.has(i):
            return [int(n) for n in self.constant(i).reshape(-1)]
        found = self.attrs.get(attr) if attr else None
        return None if found is None else [int(n) for n in found]

    def parameter(self, i: int, value: np.ndarray) -> Symbol:
        """A changed value of input `i` as a parameter."""
        return self._reading.variable(f"{self._given(i)[0]}_{self.name}", value)

    def constant_symbol(self, what: str, value: np.ndarray) -> Symbol:
        """A constant of the node's own as a parameter."""
        return self._reading.variable(f"{self.name}_{what}", value)

    def axis_extent(self, axis: int, i: int = 0) -> int:
        """The extent of input `i` along an axis, which must be known."""
        found = self.shape(i)[axis]
        if found < 0:
            raise self.error(f"input '{self._inputs[i][0]}' must be known along axis {axis}")
        return found

    def shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of input `i`, -1 where an extent is not known."""
        value = self._given(i)[1]
        found = value.shape if isinstance(value, np.ndarray) else self._reading.shape(value)
        if found is None:
            raise self.error(f"the rank of input '{self._inputs[i][0]}' is not known")
        return found

    def extents(self, i: int = 0) -> tuple[int, ...]:
        """The shape of input `i`, which must be known."""
        found = self.shape(i)
        if any(n < 0 for n in found):
            raise self.error(
                f"the shape of input '{self._inputs[i][0]}' must be known, found {found}; fix the "
                "shapes of the model's inputs"
            )
        return found

    def rank(self, i: int = 0) -> int:
        """How many axes input `i` has."""
        return len(self.shape(i))

    def axis(self, default: int, i: int = 0, name: str = "axis") -> int:
        """The attribute as an axis of input `i`, counted from 0."""
        return self.place(self.attrs.get(name, default), self.rank(i))

    def axis_of_new(self, default: int) -> int:
        """The attribute ``axis`` as one that is yet to come, counted from 0."""
        return self.place(self.attrs.get("axis", default), self.rank() + 1)

    def place(self, axis: int, rank: int) -> int:
        """An axis counted from 0."""
        if not -rank <= axis < rank:
            raise self.error(f"there is no axis {axis} of {rank}")
        return axis + rank if axis < 0 else axis

    def _given(self, i: int) -> tuple[str, Value]:
        if i >= len(self._inputs) or self._inputs[i][1] is None:
            raise self.error(f"input {i} is missing")
        name, value = self._inputs[i]
        assert value is not None
        return name, value

    # -- what is made --------------------------------------------------------------------------

    def op(self, operator: str, *inputs: Symbol, **attrs: Any) -> Symbol:
        """A use of one of MXNet's operators."""
        name = f"{self.name}_{operator.strip('_').lower()}{self._made or ''}"
        self._made += 1
        return Symbol(call(operator, inputs, {"name": name, **attrs}, operator))

    def last(self, operator: str, *inputs: Symbol, **attrs: Any) -> Symbol:
        """As :meth:`op`; the use has the node's own name."""
        return Symbol(call(operator, inputs, {"name": self.name, **attrs}, operator))

    def require(self, **values: Any) -> None:
        """Raises where an attribute is given and is something else."""
        for name, value in values.items():
            given = self.attrs.get(name, value)
            if given != value:
                raise self.error(f"{name}={given} cannot be said by MXNet's operators")

    def error(self, reason: str) -> InvalidArgumentError:
        """What to raise for what cannot be read."""
        return InvalidArgumentError(f"import_model: node '{self.name}' ({self.kind}): {reason}")


Translation = Callable[[Use], "Value | Sequence[Value]"]
"""Says a node by MXNet's operators: its outputs, as many as can be said."""

TABLE: dict[str, Translation] = {}
"""The translation of each of ONNX's operators that has one."""


def reads(*kinds: str) -> Callable[[Translation], Translation]:
    """Enters a translation for operators of ONNX; for use as a decorator."""

    def enter(translation: Translation) -> Translation:
        for kind in kinds:
            if kind in TABLE:
                raise FileFormatError(f"ONNX's operator '{kind}' has two translations")
            TABLE[kind] = translation
        return translation

    return enter
