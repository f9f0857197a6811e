"""What a translation works with: one use of an operator, and the ONNX graph to say it in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...error import InvalidArgumentError
from ...graph.node import Entry, Node, argument_names
from ...ops.card import MaybeShape, find
from .writer import Writer

__all__ = ["TABLE", "Facts", "Site", "Translation", "Value", "ints", "translates"]

Value = str | np.ndarray | np.generic
"""The name of a value in the ONNX graph, or a constant that becomes one."""


class Facts(NamedTuple):
    """What is known about a graph: shapes, types, and what follows from parameters."""

    shapes: dict[Entry, MaybeShape]
    types: dict[Entry, str | None]
    constant: Callable[[Entry], np.ndarray | None]


def ints(*values: int) -> np.ndarray:
    """A constant of integers, as axes and shapes are."""
    return np.array(values, np.int64)


Translation = Callable[["Site"], "str | Sequence[str] | None"]
"""Says an operator in ONNX: the names of its outputs, or None where its parts must be said."""

TABLE: dict[str, Translation] = {}
"""The translation of each operator that has one, by its card's name."""


def translates(*names: str) -> Callable[[Translation], Translation]:
    """Enters a translation for operators of these names; for use as a decorator."""

    def enter(translation: Translation) -> Translation:
        for name in names:
            card = find(name).name
            if card in TABLE:
                raise InvalidArgumentError(f"operator '{card}' has two translations")
            TABLE[card] = translation
        return translation

    return enter


class Site:
    """One use of an operator.

    Attributes
    ----------
    card, name, inputs
        The operator with its attributes, the node's name, the names of its inputs in ONNX.
    """

    def __init__(self, writer: Writer, node: Node, inputs: Sequence[str], facts: Facts) -> None:
        assert node.op is not None
        self.card = node.op
        self.attrs = node.op.attrs
        self.name = node.name
        self.inputs = list(inputs)
        self._writer = writer
        self._node = node
        self._facts = facts

    # -- what is known -------------------------------------------------------------------------

    def shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of input `i`; an error where an extent is not known."""
        return self._known(self._facts.shapes[self._node.inputs[i]], self._argument(i))

    def partial(self, i: int = 0) -> tuple[int, ...]:
        """The shape of input `i`, -1 where an extent is not known."""
        found = self._facts.shapes[self._node.inputs[i]]
        if found is None:
            raise self.error(f"the rank of argument '{self._argument(i)}' is not known")
        return found

    def rank(self, i: int = 0) -> int:
        """How many axes input `i` has."""
        return len(self.partial(i))

    def extent(self, axis: int, i: int = 0) -> int:
        """The extent of input `i` along an axis; an error where it is not known."""
        shape = self.partial(i)
        if not -len(shape) <= axis < len(shape):
            raise self.error(f"argument '{self._argument(i)}' has no axis {axis}")
        found = shape[axis]
        if found < 0:
            raise self.error(
                f"argument '{self._argument(i)}' must be known along axis {axis} to be said in "
                "ONNX; export it with a fixed shape there"
            )
        return found

    def axis(self, name: str = "axis", i: int = 0) -> int:
        """The attribute `name` as an axis of input `i` counted from 0."""
        given = self.attrs[name]
        return given + self.rank(i) if given < 0 else given

    def out_partial(self, k: int = 0) -> tuple[int, ...]:
        """The shape of output `k`, -1 where an extent is not known."""
        found = self._facts.shapes[Entry(self._node, k)]
        if found is None:
            raise self.error("the rank of its output is not known")
        return found

    def out_shape(self, k: int = 0) -> tuple[int, ...]:
        """The shape of output `k`; an error where an extent is not known."""
        return self._known(self.out_partial(k), "output")

    def out_image(self, first: int = 2) -> tuple[int, ...]:
        """The extents of the output from axis `first` on, which must be known."""
        return self._known(self.out_partial()[first:], "output")

    def dtype(self, i: int = 0) -> str:
        """The element type of input `i`."""
        return self._facts.types.get(self._node.inputs[i]) or "float32"

    def out_dtype(self, k: int = 0) -> str:
        """The element type of output `k`."""
        return self._facts.types.get(Entry(self._node, k)) or "float32"

    def constant(self, i: int) -> np.ndarray:
        """The value of input `i`, which must follow from parameters alone."""
        found = self._facts.constant(self._node.inputs[i])
        if found is None:
            raise self.error(
                f"argument '{self._argument(i)}' must follow from parameters alone to be said in "
                "ONNX"
            )
        return found

    def _argument(self, i: int) -> str:
        return argument_names(self.card)[i]

    def _known(self, shape: MaybeShape, what: str) -> tuple[int, ...]:
        if shape is None or any(n < 0 for n in shape):
            raise self.error(
                f"the shape of '{what}' must be known to be said in ONNX, found {shape}; export "
                "it with fixed shapes"
            )
        return shape

    # -- what is written -----------------------------------------------------------------------

    def op(self, kind: str, *inputs: Value | None, **attrs: Any) -> str:
        """Adds a node of one output, and gives its name."""
        return self.ops(kind, 1, *inputs, **attrs)[0]

    def ops(self, kind: str, count: int, *inputs: Value | None, **attrs: Any) -> list[str]:
        """Adds a node of `count` outputs, and gives their names."""
        writer = self._writer
        names = ["" if i is None else self.named(i) for i in inputs]
        while names and not names[-1]:
            names.pop()
        outputs = [writer.unique(f"{self.name}/{kind}") for _ in range(count)]
        writer.node(kind, names, outputs, {k: v for k, v in attrs.items() if v is not None})
        return outputs

    def named(self, value: Value) -> str:
        """The name of a value; a constant is entered."""
        if isinstance(value, str):
            return value
        return self._writer.constant(np.asarray(value), self.name)

    def number(self, value: float, dtype: str | None = None) -> np.ndarray:
        """A constant of the first input's element type."""
        wanted = np.dtype(dtype or self.dtype())
        if wanted.kind in "iu" and value != int(value):
            raise self.error(f"{value} is no {wanted.name}")
        return np.asarray(value, wanted)

    def tensor(self, value: np.ndarray) -> Any:
        """A constant as an attribute has it."""
        return self._writer.onnx.numpy_helper.from_array(value)

    def element_type(self, dtype: str) -> int:
        """ONNX's number for an element type."""
        return self._writer.element_type(dtype)

    def cast(self, value: str, dtype: str) -> str:
        """The value with another element type."""
        return self.op("Cast", value, to=self._writer.element_type(dtype))

    def indices(self, i: int) -> str:
        """Input `i` as int64."""
        return self.inputs[i] if self.dtype(i) == "int64" else self.cast(self.inputs[i], "int64")

    def truth(self, i: int) -> str:
        """Input `i` as bool."""
        return self.inputs[i] if self.dtype(i) == "bool" else self.cast(self.inputs[i], "bool")

    def reshape(self, value: Value, shape: Sequence[int], exact: bool = False) -> str:
        """The value with another shape, in which one extent may be -1, and 0 stands for the extent
        that there is, unless it is meant exactly."""
        if list(shape).count(-1) > 1:
            raise self.error(f"a shape of several unknown extents, {tuple(shape)}; fix them")
        return self.op("Reshape", value, ints(*shape), allowzero=int(exact and 0 in shape) or None)

    def transpose(self, value: Value, *axes: int) -> str:
        """The value with its axes in another order."""
        if list(axes) == sorted(axes):
            return self.named(value)
        return self.op("Transpose", value, perm=list(axes))

    def swapped(self, value: Value, rank: int) -> str:
        """The value with its last two axes the other way round."""
        return self.transpose(value, *range(rank - 2), rank - 1, rank - 2)

    def error(self, reason: str) -> InvalidArgumentError:
        """What to raise for what cannot be said."""
        return InvalidArgumentError(
            f"export_model: node '{self.name}' ({self.card.name}): {reason}"
        )
