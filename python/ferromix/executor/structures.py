"""Networks that were built before, found again by the structure of their graph.

Networks for sequences of several lengths, and executors that are reshaped to and fro, bind equal
graphs again and again. What is made of such a graph (inference, the gradient, the memory plan,
the kernels) depends on its operators, names and edges, and on shapes, types and devices, but on
no array; so it is made once. A network is known as long as somebody uses it; of those that nobody
uses, the last ones are kept, up to a number of nodes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from ..context import Context
from ..graph.node import Entry, Node, cards, topological, variables
from ..ops.card import Shape
from .inferred import Inferred
from .network import Network, Placement, build

__all__ = ["MOST_NODES", "forget", "network_of"]

MOST_NODES = 65536
"""The nodes of all networks that are kept though nobody uses them."""
OWN = 64
"""The nodes that the rest of a network counts for."""


class _Key:
    """What a network is known by; its many parts are hashed once."""

    __slots__ = ("_hash", "parts")

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Key) or self._hash != other._hash:
            return False
        return self.parts == other.parts


_LOCK = threading.Lock()
_KNOWN: WeakValueDictionary[_Key, Network] = WeakValueDictionary()


class _Recent:
    """The networks that were bound last, and how many nodes they have."""

    def __init__(self) -> None:
        self.networks: OrderedDict[_Key, Network] = OrderedDict()
        self.nodes = 0

    def keep(self, key: _Key, network: Network) -> None:
        """Makes a network the one that is given up last."""
        if self.networks.pop(key, None) is None:
            self.nodes += network.size + OWN
        self.networks[key] = network
        while self.nodes > MOST_NODES:
            self.nodes -= self.networks.popitem(last=False)[1].size + OWN

    def clear(self) -> None:
        """Lets go of all."""
        self.networks.clear()
        self.nodes = 0


_RECENT = _Recent()


def network_of(
    heads: Sequence[Entry],
    descs: Mapping[Node, tuple[Shape, str]],
    requests: Mapping[Node, str],
    placement: Placement,
    devices: Mapping[Node, Context],
    order: list[Node] | None = None,
    inferred: Inferred | None = None,
) -> tuple[Network, dict[Node, Node]]:
    """The network of a graph, as :func:`.network.build` makes it, and what stands for variables.

    Returns
    -------
    The network, and for each variable of the graph the one of the network, which is another where
    the network was built for an equal graph.
    """
    order = topological(heads) if order is None else order
    own = variables(order)
    if any(card.few_kept for card in cards(order)):
        # Such cards hold objects of a user's, which are not ours to keep.
        made = build(heads, descs, requests, placement, devices, order, inferred)
        return made, dict(zip(own, own, strict=True))
    places = {id(d): (d.device_typeid, d.device_id) for d in devices.values()}
    key = _Key(
        *_structure(order, heads),
        tuple([(descs[n], requests.get(n), places[id(devices[n])]) for n in own]),
        placement.default,
        tuple(placement.groups.items()),
    )
    with _LOCK:
        found = _KNOWN.get(key)
        if found is not None and not _is_as_built(found, key):
            found = None
            del _KNOWN[key]
    if found is None:
        found = build(heads, descs, requests, placement, devices, order, inferred)
    with _LOCK:
        found = _KNOWN.setdefault(key, found)
        _RECENT.keep(key, found)
    mine = found.written == list(heads)
    there = own if mine else variables(topological(found.written))
    return found, dict(zip(own, there, strict=True))


def _is_as_built(network: Network, key: _Key) -> bool:
    """Whether nobody gave the nodes other attributes since, as :meth:`Symbol._set_attr` does."""
    return _attributes(topological(network.written)) == key.parts[ATTRIBUTES]


def forget() -> None:
    """Lets go of all networks that nobody uses."""
    with _LOCK:
        _RECENT.clear()


ATTRIBUTES = 2
"""Where a structure has the attributes of its nodes."""


def _attributes(order: Sequence[Node]) -> tuple[tuple[tuple[str, str], ...], ...]:
    return tuple([tuple(n.attrs.items()) if n.attrs else () for n in order])


def _structure(order: Sequence[Node], heads: Sequence[Entry]) -> tuple[Any, ...]:
    """What two graphs have in common that are computed alike and look alike to a user."""
    position = {node: i for i, node in enumerate(order)}
    return (
        tuple([n.op for n in order]),
        tuple([n.name for n in order]),
        _attributes(order),
        tuple([(position[node], i) for n in order for node, i in n.inputs]),
        tuple([len(n.inputs) for n in order]),
        tuple([(position[node], i) for node, i in heads]),
    )
