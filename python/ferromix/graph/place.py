"""The pass that places nodes on devices, and puts copies where a value goes from one to another.

A node is on the device of its group (the attribute ``ctx_group``), if it has one; otherwise where
the first of its inputs is that a group placed, or that took its place from one; otherwise on the
default device. A variable is where its array is. The gradient of a node is computed where the node
is, as the gradient of a copy is a copy the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..context import Context
from ..ops.card import make
from .gradient import Gradients
from .node import Entry, Node, topological

__all__ = ["Placed", "group_of", "place"]


def group_of(node: Node) -> str | None:
    """The group that a node or a variable belongs to."""
    return node.attrs.get("__ctx_group__")


@dataclass(slots=True)
class Placed:
    """A graph with its copies.

    Attributes
    ----------
    heads
        The outputs.
    entries
        What stands for each entry of the graph without copies; None where each stands for itself.
    devices
        Where each node runs, and each variable is.
    """

    heads: list[Entry]
    entries: dict[Entry, Entry] | None
    devices: dict[Node, Context]
    _sources: dict[Node, Context] = field(default_factory=dict)

    def add_backward(self, found: Gradients) -> None:
        """Places the nodes of a backward pass, each with the node that it is a gradient of."""
        for head, seed in zip(self.heads, found.head_grads, strict=True):
            if seed is not None:
                self.devices[seed] = self.devices[head.node]
        for node in found.nodes:
            origin = found.origins[node]
            self.devices[node] = self._sources.get(origin) or self.devices[origin]


def place(
    heads: Sequence[Entry],
    default: Context,
    groups: Mapping[str, Context],
    variables: Mapping[Node, Context],
    order: list[Node] | None = None,
) -> Placed:
    """The graph of `heads` on devices; the same nodes where nothing has to be copied.

    Parameters
    ----------
    heads
        The outputs.
    default
        The device of nodes that no group has an influence on.
    groups
        The devices of groups.
    variables
        The device of each variable.
    order
        All nodes of the graph, where they are known.
    """
    order = topological(heads) if order is None else order
    # Many are one object, which is compared once.
    distinct = {id(context): context for context in variables.values()}
    computing = {key: context.compute for key, context in distinct.items()}
    devices = {node: computing[id(context)] for node, context in variables.items()}
    if not groups and all(device == default.compute for device in computing.values()):
        return Placed(list(heads), None, dict.fromkeys(order, default.compute))
    grouped: set[Node] = set()
    for node in order:
        group = groups.get(group_of(node) or "")
        sources = [e.node for e in node.inputs if e.node in grouped]
        if group is not None or sources:
            grouped.add(node)
        if node.op is not None:
            chosen = group or (devices[sources[0]] if sources else default)
            devices[node] = chosen.compute
    return _Copier(devices).run(order, heads)


class _Copier:
    """Rebuilds what comes after a copy."""

    def __init__(self, devices: dict[Node, Context]) -> None:
        self._devices = devices
        self._sources: dict[Node, Context] = {}
        self._entries: dict[Entry, Entry] = {}
        self._copies: dict[tuple[Entry, Context], Entry] = {}

    def run(self, order: Sequence[Node], heads: Sequence[Entry]) -> Placed:
        for node in order:
            self._add(node)
        found = [self._entries[head] for head in heads]
        return Placed(found, self._entries, self._devices, self._sources)

    def _add(self, node: Node) -> None:
        device = self._devices[node]
        states = node.op.mutated_inputs() if node.op is not None else ()
        inputs = [
            self._entries[e] if i in states else self._on(self._entries[e], device)
            for i, e in enumerate(node.inputs)
        ]
        found = node if inputs == node.inputs else Node(node.op, node.name, inputs, node.attrs)
        self._devices[found] = device
        self._entries.update(zip(node.outputs(), found.outputs(), strict=True))

    def _on(self, entry: Entry, device: Context) -> Entry:
        """The value on a device, by a copy for all who need it there."""
        source = self._devices[entry.node]
        if source == device:
            return entry
        if (entry, device) not in self._copies:
            name = f"{entry.node.name}_{entry.output}_copy"
            copy = Node(make("_CrossDeviceCopy", {}), name, [entry])
            self._devices[copy], self._sources[copy] = device, source
            self._copies[entry, device] = Entry(copy, 0)
        return self._copies[entry, device]
