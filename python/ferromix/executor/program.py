"""Programs: a network bound to memory, as one plan of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from .. import _core
from ..context import Context, placement
from ..dispatch import (
    ADD,
    INPLACE,
    NULL,
    WRITE,
    chains,
    device_of,
    fusion,
    prepare,
    state_request,
)
from ..dispatch.backend import CPU
from ..graph.eliminate import mutated_entries
from ..graph.fuse import fuse, readers_of
from ..graph.node import Entry, Node
from ..graph.plan_memory import MemoryPlan, plan_memory
from ..ndarray import NDArray
from ..ops.card import Shape
from .network import Network
from .passes import Order, item_size, optimise

__all__ = ["BufferPool", "Program", "item_size"]


class BufferPool:
    """Buffers that the programs of one executor, or of executors that share, take in turn.

    `user` is whoever wrote results into the buffers last; `token` is an array that stands for all
    buffers in the engine's order.
    """

    def __init__(self) -> None:
        self._buffers: list[Any] = []
        self.user: object = None
        self.token = _core.Array((1,), "uint8")

    @property
    def total(self) -> int:
        """The bytes of all buffers."""
        return sum(b.shape[0] for b in self._buffers)

    def take(self, sizes: Sequence[int], devices: Sequence[Context | None]) -> list[Any]:
        """A buffer of at least each size on its device; the largest get the largest buffers."""
        free = sorted(self._buffers, key=lambda b: -b.shape[0])
        taken: dict[int, Any] = {}
        for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
            place = placement(devices[i])
            near = next((b for b in free if b.context == place), None)
            if near is not None and near.shape[0] >= sizes[i]:
                free.remove(near)
                taken[i] = near
            else:
                taken[i] = _core.Array((sizes[i],), "uint8", *place)
                self._buffers.append(taken[i])
        return [taken[i] for i in range(len(sizes))]


class Program:
    """A network, or its forward half, bound to arrays.

    Parameters
    ----------
    network
        The graph.
    arrays
        The arrays of variables, of outputs and of gradients.
    adds
        Gradients that are added to what their array holds.
    pool
        Where buffers for everything else come from.
    backward
        Whether the program computes gradients too.
    is_train
        Whether operators train or predict.
    monitored
        Whether there is an array for every result.
    """

    def __init__(
        self,
        network: Network,
        arrays: Mapping[Entry, Any],
        adds: set[Entry],
        pool: BufferPool,
        *,
        backward: bool,
        is_train: bool,
        monitored: bool = False,
    ) -> None:
        self.monitored = monitored
        self._network = network
        self._is_train = is_train
        made = network.backward if backward else []
        known = Order(network.forward, made, network.shapes, network.types, network.devices)
        if not monitored:
            known = optimise(known, arrays.keys(), network.gradients.values())
        self._known, self._devices = known, dict(known.devices)
        halves = [known.forward, known.backward]
        fused = halves if monitored else self._fuse(halves, arrays)
        order, self._backward = [n for half in fused for n in half], fused[1]
        self.order = order
        self.memory = _plan(network, known, order, arrays, self._devices)
        self._adds = adds
        self._arrays = dict(arrays)
        self._buffers = pool.take(self.memory.buffers, self.memory.devices)
        self._token = pool.token
        self._place(order, self._buffers)
        self._plan = self._make_plan(order, is_train)
        self._predicting: Any = None
        self._starts = self._count_steps(fused, [*network.forward, *made])

    def forward(self, first: int = 0, last: int | None = None) -> None:
        """Launches the forward half, or its nodes from `first` to before `last`."""
        last = len(self._network.forward) if last is None else last
        self._plan.run(self._starts[first], self._starts[last])

    def backward(self, is_train: bool, first: int = 0, last: int | None = None) -> None:
        """Launches the backward half, or its nodes from `first` to before `last`.

        In the mode of the forward half if `is_train`, and as prediction otherwise.
        """
        before = len(self._network.forward)
        last = len(self._network.backward) if last is None else last
        start, stop = self._starts[before + first], self._starts[before + last]
        if is_train or not self._is_train:
            self._plan.run(start, stop)
            return
        if self._predicting is None:
            self._predicting = self._make_plan(self._backward, False)
        split = self._starts[before]
        self._predicting.run(start - split, stop - split)

    def array(self, entry: Entry) -> NDArray | None:
        """The array of a variable or of a result; None for what is not there."""
        found = self._arrays.get(entry)
        return None if found is None else NDArray(found)

    def _count_steps(self, halves: Sequence[list[Node]], nodes: Sequence[Node]) -> list[int]:
        """How many steps of the plan have run before each node of the network, and after the last.

        Views take none, nor does what a pass left out; a group of fused nodes takes one, with the
        last of them; what a pass added goes with the next node.
        """
        ends: dict[Node, int] = {}
        done = 0
        for half in halves:
            for node in half:
                done += not self._is_view(node)
                ends[node.outputs()[0].node] = done
        return [0, *accumulate((ends.get(node, 0) for node in nodes), max)]

    def _fuse(self, halves: Sequence[list[Node]], kept: Mapping[Entry, Any]) -> list[list[Node]]:
        """The halves with groups of nodes that compute element by element as one."""
        nodes = [n for half in halves for n in half]
        on_cpu = {n for n in nodes if device_of(self._devices[n]) == CPU}
        wanted = {n for n in nodes if n not in on_cpu} if fusion.is_on() else set()
        if chains.is_on():
            wanted |= {n for n in on_cpu if prod(self._desc(n.outputs()[0])[0]) >= chains.LEAST}
        if not wanted:
            return list(halves)
        readers = readers_of(nodes)
        changed = mutated_entries(nodes)

        def may_join(node: Node, last: Node) -> bool:
            assert node.op is not None
            if node not in wanted:
                return False
            output = self._desc(node.outputs()[0])
            device = self._devices[node]
            near = device == self._devices[last] and output == self._desc(last.outputs()[0])
            sources = [e.node for e in node.inputs]
            if not near or not changed.isdisjoint(node.inputs):
                return False
            if any(self._devices.get(source, device) != device for source in sources):
                return False
            inputs = tuple(self._desc(e) for e in node.inputs)
            if node in on_cpu:
                return chains.is_elementwise(node.op, inputs, output)
            return fusion.is_elementwise(node.op, inputs, output, self._is_train)

        fused = [fuse(half, readers, kept.keys(), may_join) for half in halves]
        for half in fused:
            for node in half:
                self._devices.setdefault(node, self._devices[node.outputs()[0].node])
        return fused

    def _make_plan(self, nodes: Sequence[Node], is_train: bool) -> Any:
        steps = [self._step(node, is_train) for node in nodes if not self._is_view(node)]
        return _core.Plan(steps, self._buffers, self._token)

    def _is_view(self, node: Node) -> bool:
        return node.outputs()[0] in self.memory.views

    def _place(self, order: Sequence[Node], buffers: Sequence[Any]) -> None:
        """Finds the array of every result."""
        for node in order:
            for entry in node.outputs():
                shape = self._known.shapes[entry]
                if entry in self._arrays:
                    continue
                if entry in self.memory.places:
                    self._arrays[entry] = self._within(buffers, entry)
                elif entry in self.memory.views:
                    source = self._arrays[self.memory.views[entry]]
                    self._arrays[entry] = source.reshape(shape)

    def _within(self, buffers: Sequence[Any], entry: Entry) -> Any:
        """The part of a buffer that a result has been given."""
        shape, dtype = self._known.shapes[entry], self._known.types[entry]
        number, offset = self.memory.places[entry]
        if not offset:
            return buffers[number].cast_view(dtype, shape)
        # Offsets are multiples of the largest element.
        elements = offset // item_size(dtype)
        whole = buffers[number].cast_view(dtype, (elements + prod(shape),))
        return whole.view(elements, (prod(shape),), (1,)).reshape(shape)

    def _step(self, node: Node, is_train: bool) -> tuple[Any, str, list[Any], list[Any], list[int]]:
        card = node.op
        assert card is not None
        inputs = [self._arrays[e] for e in node.inputs]
        entries = node.outputs()
        outputs = [self._arrays.get(e) for e in entries]
        reqs = [self._request(e) for e in entries]
        changed = [inputs[i] for i in card.mutated_inputs()]
        state = state_request(card, is_train)
        prepared = prepare(
            card,
            tuple(self._desc(e) for e in node.inputs),
            tuple(self._desc(e) for e in entries),
            is_train,
            device_of(self._devices[node]),
        )
        return prepared, node.name, inputs, outputs + changed, reqs + [state] * len(changed)

    def _request(self, entry: Entry) -> int:
        if entry not in self._arrays:
            return NULL
        if entry in self._adds:
            return ADD
        return INPLACE if entry in self.memory.inplace else WRITE

    def _desc(self, entry: Entry) -> tuple[Shape, str]:
        return self._known.shapes[entry], self._known.types[entry]


def _plan(
    network: Network,
    known: Order,
    order: Sequence[Node],
    arrays: Mapping[Entry, Any],
    devices: Mapping[Node, Context],
) -> MemoryPlan:
    sizes = {entry: known.size(entry) for node in order for entry in node.outputs()}
    # A view needs no copy, but must not see changes that are made after it was read.
    states = {Entry(n, 0) for n in network.states}
    own = set(network.gradients.values())
    viewable = {
        entry
        for entry, array in arrays.items()
        if entry not in states and entry not in own and array.contiguous
    }
    return plan_memory(order, sizes, arrays.keys(), viewable, devices)
