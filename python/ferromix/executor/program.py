"""Programs: a network bound to memory, as one plan of the core."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from .. import _core
from ..context import Context, placement
from ..dispatch import chains, device_of, fusion, maker, prepare, state_request
from ..dispatch.backend import CPU, Desc
from ..graph.fuse import ALIKE, ASK, NEVER, fuse
from ..graph.node import Entry, Node, first_entries
from ..graph.plan_memory import MemoryPlan, plan_memory
from ..ndarray import NDArray
from .kernel_plan import KernelPlan, KernelStep
from .network import Network
from .order import Order, item_size
from .passes import keeps_weights, optimise, settings

__all__ = ["BufferPool", "Program", "item_size"]


class BufferPool:
    """Buffers that the programs of one executor, or of executors that share, take in turn.

    `user` is whoever wrote results into the buffers last; `token` is an array that stands for all
    buffers in the engine's order. `lock` is held while a pass is checked and pushed, so that no
    other thread's pass comes between.
    """

    def __init__(self) -> None:
        self._buffers: list[Any] = []
        self.user: object = None
        self.token = _core.Array((1,), "uint8")
        # A monitor that a pass calls may run the executor itself.
        self.lock = threading.RLock()

    @property
    def total(self) -> int:
        """The bytes of all buffers."""
        return sum(b.shape[0] for b in self._buffers)

    def take(self, sizes: Sequence[int], devices: Sequence[Context | None]) -> list[Any]:
        """A buffer of at least each size on its device; the largest get the largest buffers."""
        with self.lock:
            return self._take(sizes, devices)

    def _take(self, sizes: Sequence[int], devices: Sequence[Context | None]) -> list[Any]:
        # Many are one object, which is found without comparing devices.
        distinct = {id(device): device for device in devices}
        places = {key: placement(device) for key, device in distinct.items()}
        if not self._buffers:
            where = [places[id(device)] for device in devices]
            self._buffers = [
                _core.Array((size,), "uint8", *place)
                for size, place in zip(sizes, where, strict=True)
            ]
            return list(self._buffers)
        free: dict[tuple[int, int], list[Any]] = {}
        for buffer in sorted(self._buffers, key=lambda b: b.shape[0]):
            free.setdefault(buffer.context, []).append(buffer)
        taken: dict[int, Any] = {}
        for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
            place = places[id(devices[i])]
            near = free.get(place)
            if near and near[-1].shape[0] >= sizes[i]:
                taken[i] = near.pop()
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
        self._arrays = arrays
        # What a reshape may be a view of depends on how arrays lie in memory.
        usual = not monitored and all(array.contiguous for array in arrays.values())
        mode = (backward, is_train, fusion.is_on(), chains.is_on(), settings())
        made = network.programs.get(mode) if usual else None
        if made is None:
            made = _Made.of(network, arrays, adds, backward, is_train, monitored)
            if usual:
                network.programs[mode] = made
        self._made = made
        if made.constants:
            self._arrays = {**arrays, **made.constants}
        self.order, self.memory = made.order, made.memory
        self._buffers = pool.take(made.memory.buffers, made.memory.devices)
        self._token = pool.token
        # Weights change with each pass of training, and what is made of them is of no use then.
        keep = not (is_train or backward) and keeps_weights()
        self._plan = self._bind(made.lowered, keep)
        self._starts = made.starts
        self._predicting: Any = None

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
            self._predicting = self._bind(self._made.predicting)
        split = self._starts[before]
        self._predicting.run(start - split, stop - split)

    @cached_property
    def overwrites(self) -> bool:
        """Whether the backward half writes over results of the forward half that it reads."""
        made = self._made
        return made.memory.planned.overwrites(len(made.order) - len(made.backward))

    @property
    def constant_bytes(self) -> int:
        """The bytes of constants, which executors of one network share."""
        return sum(array.nbytes for array in self._made.constants.values())

    def array(self, entry: Entry) -> NDArray | None:
        """The array of a variable or of a result; None for what is not there."""
        found = self._arrays.get(entry)
        return None if found is None else NDArray(found)

    def kernel_plan(self) -> KernelPlan:
        """The steps, and how each of them computes."""
        return KernelPlan([KernelStep(*row) for row in self._plan.about()])

    def _bind(self, lowered: _core.Lowered, keep: bool = False) -> _core.Plan:
        arrays = [self._arrays[e] for e in self._made.given]
        return _core.Plan(lowered, arrays, self._buffers, self._token, keep)


@dataclass
class _Made:
    """What programs of one network in one mode have in common, whatever their arrays are.

    Attributes
    ----------
    constants
        The arrays of what is computed once.
    given
        The entries that have arrays, in the order in which a plan takes these.
    adds
        Gradients that are added to what their array holds.
    devices
        Where nodes run, fused ones included.
    order, backward
        The nodes of both halves, and of the backward half.
    memory
        The plan of all other memory.
    lowered
        The steps.
    starts
        For each node of the network the number of steps before it.
    """

    constants: dict[Entry, Any]
    given: tuple[Entry, ...]
    adds: set[Entry]
    devices: dict[Node, Context]
    order: list[Node]
    backward: list[Node]
    memory: MemoryPlan
    lowered: _core.Lowered
    starts: list[int]

    @classmethod
    def of(
        cls,
        network: Network,
        arrays: Mapping[Entry, Any],
        adds: set[Entry],
        backward: bool,
        is_train: bool,
        monitored: bool,
    ) -> _Made:
        """What :class:`Program` needs for its parameters."""
        back = network.backward if backward else []
        known = Order(network.forward, back, network.shapes, network.types, network.devices)
        if not monitored:
            predicts = not (backward or is_train)
            known = optimise(known, arrays.keys(), network.gradients.values(), predicts)
        devices = dict(known.devices)
        constants = _computed(network, known, is_train) if known.constants else {}
        arrays = {**arrays, **constants} if constants else arrays
        halves = [known.forward, known.backward]
        fused = halves if monitored else _fuse(known, devices, halves, arrays, is_train)
        order = [n for half in fused for n in half]
        memory = _plan(network, known, order, arrays, devices)
        given = tuple(arrays)
        lowered = _lower(devices, given, adds, memory, is_train)
        starts = _count_steps([*network.forward, *back], memory)
        return cls(constants, given, adds, devices, order, fused[1], memory, lowered, starts)

    @cached_property
    def predicting(self) -> _core.Lowered:
        """The backward half for prediction, after a forward half for training."""
        first = len(self.order) - len(self.backward)
        return _lower(self.devices, self.given, self.adds, self.memory, False, first)


def _computed(network: Network, known: Order, is_train: bool) -> dict[Entry, Any]:
    """The arrays of constants; what gives them is run here, and never again."""
    devices = dict(known.devices)
    arrays = {
        e: _core.Array(known.shapes[e], known.types[e], *placement(devices[e.node]))
        for e in known.constants
    }
    memory = _plan(network, known, list(known.folded), arrays, devices)
    lowered = _lower(devices, tuple(arrays), set(), memory, is_train)
    pool = BufferPool()
    buffers = pool.take(memory.buffers, memory.devices)
    plan = _core.Plan(lowered, list(arrays.values()), buffers, pool.token, False)
    plan.run(0, _count_steps(known.folded, memory)[-1])
    return arrays


def _lower(
    devices: Mapping[Node, Context],
    given: Sequence[Entry],
    adds: set[Entry],
    memory: MemoryPlan,
    is_train: bool,
    first: int = 0,
) -> _core.Lowered:
    """The steps of what was planned, from the node with the number `first` on."""

    def about(node: Node) -> tuple[_core.Maker | None, list[int], int]:
        card = node.op
        assert card is not None
        kernels = maker(card, is_train, device_of(devices[node]))
        return kernels, card.mutated_inputs(), state_request(card, is_train)

    def ask(node: Node, inputs: tuple[Desc, ...], outputs: tuple[Desc, ...]) -> _core.Prepared:
        card = node.op
        assert card is not None
        return prepare(card, inputs, outputs, is_train, device_of(devices[node]))

    return _core.lower(memory.planned, first, given, adds, about, ask)


def _known_as(node: Node) -> Node:
    """What the rest of the graph knows a fused node by."""
    return node.outputs()[0][0]


def _count_steps(nodes: Sequence[Node], memory: MemoryPlan) -> list[int]:
    """How many steps of a plan have run before each node of the network, and after the last.

    Views take none, nor does what a pass left out; a group of fused nodes takes one, with the last
    of them; what a pass added goes with the next node.
    """
    return memory.planned.count_steps(nodes, _known_as)


def _fuse(
    known: Order,
    devices: dict[Node, Context],
    halves: Sequence[list[Node]],
    kept: Mapping[Entry, Any],
    is_train: bool,
) -> list[list[Node]]:
    """The halves with groups of nodes that compute element by element as one; on the CPU of large
    ones only."""
    shapes, types = known.shapes, known.types
    # Many are one object, which is found without comparing devices.
    places = {id(place): place for place in devices.values()}.values()
    large = any(prod(s) >= chains.LEAST for s in set(shapes.values()))
    on_cpu = large and chains.is_on()
    on_gpu = fusion.is_on() and any(device_of(place) != CPU for place in places)
    if not (on_cpu or on_gpu):
        return list(halves)

    def about(node: Node) -> tuple[int, list[int]]:
        card = node.op
        assert card is not None
        way = NEVER
        if device_of(devices[node]) != CPU:
            way = ASK if on_gpu else NEVER
        elif on_cpu and chains.may_be_part(card):
            way = ALIKE
        return way, card.mutated_inputs()

    def fits(node: Node) -> bool:
        card, output = node.op, node.outputs()[0]
        assert card is not None
        inputs = tuple([(shapes[e], types[e]) for e in node.inputs])
        return fusion.is_elementwise(card, inputs, (shapes[output], types[output]), is_train)

    return fuse(halves, kept, (shapes, types), devices, about, fits, chains.LEAST)


def _plan(
    network: Network,
    known: Order,
    order: list[Node],
    arrays: Mapping[Entry, Any],
    devices: dict[Node, Context],
) -> MemoryPlan:
    # A view needs no copy, but must not see changes that are made after it was read.
    closed = {*first_entries(network.states), *network.gradients.values()}
    viewable = {e for e, array in arrays.items() if e not in closed and array.contiguous}
    sizes = known.shapes, known.types
    return plan_memory(order, sizes, arrays.keys(), viewable, devices)
