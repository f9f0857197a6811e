"""What is known of a program's nodes while they go through its passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from ..context import Context
from ..graph.node import Entry, Node
from ..ops.card import Shape

__all__ = ["Alike", "Order", "item_size"]

_ITEM_SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}


def item_size(dtype: str) -> int:
    """Bytes of one element."""
    return _ITEM_SIZES.get(dtype, 1)


@dataclass(frozen=True, slots=True)
class Order:
    """The nodes of a program, and what is known of their results.

    Attributes
    ----------
    forward, backward
        The operator nodes, each after its inputs.
    shapes, types
        Of every entry of every node.
    devices
        Where every node runs, and every variable is.
    folded, constants
        The nodes that run once, when a program is made, and what others read of them.
    """

    forward: list[Node]
    backward: list[Node]
    shapes: dict[Entry, Shape]
    types: dict[Entry, str]
    devices: dict[Node, Context]
    folded: Sequence[Node] = ()
    constants: Sequence[Entry] = ()

    def size(self, entry: Entry) -> int:
        """The bytes of a result."""
        return prod(self.shapes[entry]) * item_size(self.types[entry])


@dataclass(slots=True)
class Alike:
    """Gives new entries the shape, the type and the device of others."""

    order: Order
    shapes: dict[Entry, Shape] = field(default_factory=dict)
    types: dict[Entry, str] = field(default_factory=dict)
    devices: dict[Node, Context] = field(default_factory=dict)

    def __call__(self, new: Entry, like: Entry) -> None:
        """Notes that an entry is like another."""
        self.shapes[new] = self.order.shapes[like]
        self.types[new] = self.order.types[like]
        self.devices[new.node] = self.order.devices[like.node]

    def with_nodes(self, forward: list[Node], backward: list[Node]) -> Order:
        """The order of these nodes, new ones among them."""
        known = self.order
        shapes = known.shapes | self.shapes if self.shapes else known.shapes
        types = known.types | self.types if self.types else known.types
        devices = known.devices | self.devices if self.devices else known.devices
        moved = [n for n in (*forward, *backward) if n not in devices]
        if moved:
            devices = devices | {n: devices[n.outputs()[0].node] for n in moved}
        return Order(forward, backward, shapes, types, devices, known.folded, known.constants)
