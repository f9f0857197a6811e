"""The passes that a program's nodes go through before they are planned, and their switches.

Each pass is a function of :mod:`ferromix.graph`, from nodes in order to nodes in order. Results
keep their entries, so everything else knows the graph as it was."""

from __future__ import annotations

import os
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf, prod

from .. import _core
from ..context import Context
from ..dispatch import device_of, recipe, state_request
from ..dispatch.backend import CPU
from ..error import InvalidArgumentError
from ..graph.eliminate import live, may_shrink, merge, mutated_entries
from ..graph.fold import fold
from ..graph.fuse_convolution import fuse_convolutions
from ..graph.node import Entry, Node, first_entries
from ..graph.plan_memory import plan_memory
from ..graph.recompute import Cost, is_forced, recomputed, select
from ..graph.rewired import entries_of
from ..graph.swap_pooling import swap_pooling
from ..ops.card import OperatorProperty, Shape
from ..ops.family import REALS
from ..ops.own_backward import PythonRun

__all__ = ["Order", "item_size", "keeps_weights", "optimise", "repeats", "settings"]

_ITEM_SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}

_SETTINGS = (
    "FERROMIX_COMMON_EXPRESSIONS",
    "FERROMIX_FOLD_CONSTANTS",
    "FERROMIX_SWAP_POOLING",
    "FERROMIX_FUSE_CONVOLUTION",
    "FERROMIX_RECOMPUTE",
    "MXNET_BACKWARD_DO_MIRROR",
    "FERROMIX_MEMORY_BUDGET",
)

BYTES_A_SECOND, OPERATIONS_A_SECOND = 2e10, 1e11
"""What one core does, about; only the ratio counts."""


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
class _Alike:
    """Gives new entries the shape, the type and the device of others."""

    order: Order
    shapes: dict[Entry, Shape] = field(default_factory=dict)
    types: dict[Entry, str] = field(default_factory=dict)
    devices: dict[Node, Context] = field(default_factory=dict)

    def __call__(self, new: Entry, like: Entry) -> None:
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


def optimise(
    order: Order, kept: Collection[Entry], guarded: Collection[Entry], predicts: bool
) -> Order:
    """The order after all passes that are switched on.

    Parameters
    ----------
    order
        The nodes as they were made.
    kept
        Entries that have arrays of their own.
    guarded
        Gradients, whose arrays may hold sums.
    predicts
        Whether nothing is trained.
    """
    if _flag("FERROMIX_COMMON_EXPRESSIONS"):
        order = _eliminate(order, kept, guarded)
    if _flag("FERROMIX_FOLD_CONSTANTS"):
        order = _fold(order, kept)
        kept = {*kept, *order.constants} if order.constants else kept
    if order.backward and _flag("FERROMIX_SWAP_POOLING"):
        alike = _Alike(order)
        backward = swap_pooling(order.backward, kept, alike)
        if len(backward) != len(order.backward) or alike.shapes:
            order = alike.with_nodes(order.forward, backward)
    if predicts and _flag("FERROMIX_FUSE_CONVOLUTION"):
        order = _fuse_convolutions(order, kept)
    return _recompute(order, kept) if order.backward else order


def settings() -> tuple[str | None, ...]:
    """What the environment says to the passes."""
    return tuple(map(os.environ.get, _SETTINGS))


def keeps_weights() -> bool:
    """Whether inference keeps weights in the order in which kernels read them."""
    return _flag("FERROMIX_KEEP_WEIGHTS")


def _flag(name: str) -> bool:
    """A switch of the environment, which is on unless it says 0."""
    return os.environ.get(name) != "0"


# -- common expressions ------------------------------------------------------------------------


def _eliminate(order: Order, kept: Collection[Entry], guarded: Collection[Entry]) -> Order:
    nodes = [*order.forward, *order.backward]
    if not may_shrink(nodes, kept):
        return order
    states = mutated_entries(nodes)

    def about(node: Node) -> tuple[object, ...]:
        outputs = node.outputs()
        descs = [(order.shapes[e], order.types[e]) for e in outputs]
        return order.devices[node], *descs

    merged = merge(nodes, kept, {*guarded, *states}, is_pure, about)
    alive = live(merged, kept, is_pure)
    if len(alive) == len(nodes):
        return order
    second = set(order.backward)
    split = bisect_left(alive, True, key=lambda n: entries_of(n) in second)
    return _Alike(order).with_nodes(alive[:split], alive[split:])


def is_pure(card: OperatorProperty) -> bool:
    """Whether nodes give the same for the same inputs, in every mode, and do nothing else."""
    if card.uses_train_mode or card.private_outputs or card.few_kept or card.mutated_inputs():
        return False
    return card.kernel_name() in _PURE and _is_builtin(type(card))


# -- constants ---------------------------------------------------------------------------------


def _fold(order: Order, kept: Collection[Entry]) -> Order:
    nodes = [*order.forward, *order.backward]
    if all(node.inputs for node in nodes):
        return order
    states = mutated_entries(nodes)
    room = FOLDED

    def may_fold(node: Node) -> bool:
        nonlocal room
        card, outputs = node.op, node.outputs()
        assert card is not None
        size = sum(order.size(e) for e in outputs)
        if size > room or not states.isdisjoint(outputs) or not is_pure(card):
            return False
        room -= size
        return True

    found = fold(nodes, kept, may_fold)
    if not found.constants:
        return order
    gone = set(found.constants)
    forward = [n for n in order.forward if n not in gone]
    backward = [n for n in order.backward if n not in gone]
    return replace(
        order, forward=forward, backward=backward, folded=found.constants, constants=found.read
    )


FOLDED = 1 << 20
"""The bytes of constants of a program; what is larger costs less time than memory."""


@lru_cache(maxsize=1024)
def _is_builtin(kind: type[OperatorProperty]) -> bool:
    """Whether the package's operators are meant, not those that run code of a user's."""
    return kind.__module__.startswith(OperatorProperty.__module__.rpartition(".")[0])


def repeats(node: Node) -> bool:
    """Whether prediction, run again on the same inputs, gives the same, by no user's function."""
    card = node.op
    if card is None:
        return True
    if isinstance(card, PythonRun) or not _is_builtin(type(card)):
        return False
    # Others that draw numbers in training alone know the mode.
    still = card.uses_train_mode and card.attrs.get("mode") != "always"
    return still or card.kernel_name() in _PURE


_PURE = frozenset(_core.kernel_names()) - frozenset(_core.random_kernels())


# -- convolutions ------------------------------------------------------------------------------


def _fuse_convolutions(order: Order, kept: Collection[Entry]) -> Order:
    # What keeps a state for training alone only reads it here.
    changed = mutated_entries([n for n in order.forward if n.op and state_request(n.op, False)])

    def may_join(node: Node) -> bool:
        output = node.outputs()[0]
        near = device_of(order.devices[output.node]) == CPU
        return near and order.types[output] in REALS and changed.isdisjoint(node.inputs)

    def alike(a: Entry, b: Entry) -> bool:
        same = order.shapes[a] == order.shapes[b] and order.types[a] == order.types[b]
        return same and order.devices[a.node] == order.devices[b.node]

    forward = fuse_convolutions(order.forward, kept, may_join, alike)
    return _Alike(order).with_nodes(forward, order.backward)


# -- recomputation -----------------------------------------------------------------------------


def _recompute(order: Order, kept: Collection[Entry]) -> Order:
    """With results computed again as attributes and the environment ask for."""
    budget, most = _budget(), inf
    asked = budget is not None or os.environ.get("MXNET_BACKWARD_DO_MIRROR", "0") not in ("", "0")
    if not asked:
        most = _share() * PASSES
        small = _bytes_of_results(order) < WORTH
        if not most or small or len(order.forward) > MANY:
            nodes = [n for n in order.forward if n.attrs and is_forced(n)]
            return _with_dropped(order, _able(order, nodes, kept)) if nodes else order
        most *= sum(_cost(order, n).seconds for n in order.forward)
    able = _able(order, order.forward, kept)
    forced = {e: n for e, n in able.items() if is_forced(n)}
    costs = {e: _cost(order, n) for e, n in able.items()}
    if budget is None:
        costs = {e: cost for e, cost in costs.items() if not cost.heavy}
    halves, sizes = (order.forward, order.backward), (order.shapes, order.types)

    def chosen(budget: int, most: float = inf) -> Order:
        about = halves, sizes, kept, order.devices, able, forced, costs
        found = select(*about, max(budget, 0), most)
        return _with_dropped(order, forced | {e: able[e] for e in found})

    if budget is None:
        return chosen(0, most)
    outputs = {e for n in order.forward for e in n.outputs() if e in kept}
    room = aim = budget - sum(order.size(e) for e in outputs)
    for _ in range(TRIES):
        found = chosen(aim)
        nodes = [*found.forward, *found.backward]
        plan = plan_memory(nodes, (found.shapes, found.types), kept, (), found.devices)
        if plan.total <= room:
            return found
        # Buffers may be larger than what lives in them at once.
        aim -= plan.total - room
    warnings.warn(
        f"FERROMIX_MEMORY_BUDGET: {budget / 2**20:.6g} MB are not enough for this graph, which "
        f"takes {(plan.total + budget - room) / 2**20:.6g} MB at least",
        RuntimeWarning,
        stacklevel=2,
    )
    return found


def _bytes_of_results(order: Order) -> int:
    """What the first outputs of the forward half take together; few are of different sizes."""
    shapes, types = order.shapes, order.types
    plain = first_entries([n for n in order.forward if type(n) is Node])
    results = plain + [n.outputs()[0] for n in order.forward if type(n) is not Node]
    counts = Counter([(shapes[e], types[e]) for e in results])
    return sum(prod(shape) * item_size(dtype) * n for (shape, dtype), n in counts.items())


TRIES = 4
"""Searches for a plan within a budget."""
PASSES = 3
"""A training pass takes as long as so many forward passes, about."""
WORTH, MANY = 64 << 20, 4096
"""Where nothing is asked for: the bytes from which it is worth a search, and nodes up to which."""


def _share() -> float:
    """The share of a pass that recomputation may take where nothing else is asked for."""
    given = os.environ.get("FERROMIX_RECOMPUTE", "2")
    try:
        found = float(given) / 100
    except ValueError:
        found = -1.0
    if not 0 <= found < inf:
        raise InvalidArgumentError(
            f"FERROMIX_RECOMPUTE must be a percentage of the time of a pass, got {given!r}"
        )
    return found


def _budget() -> int | None:
    """The bytes that results may take, by the environment."""
    given = os.environ.get("FERROMIX_MEMORY_BUDGET")
    if not given:
        return None
    try:
        return int(float(given) * 2**20)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            f"FERROMIX_MEMORY_BUDGET must be a number of megabytes, got {given!r}"
        ) from None


def _with_dropped(order: Order, dropped: Mapping[Entry, Node]) -> Order:
    alike = _Alike(order)
    backward = recomputed(order.backward, dropped, alike)
    return alike.with_nodes(order.forward, backward)


def _able(order: Order, nodes: Collection[Node], kept: Collection[Entry]) -> dict[Entry, Node]:
    """The nodes that may be computed again, by their first outputs."""
    states = mutated_entries([*order.forward, *order.backward])
    return {n.outputs()[0]: n for n in nodes if _is_able(order, n, kept, states)}


def _is_able(order: Order, node: Node, kept: Collection[Entry], states: set[Entry]) -> bool:
    card, outputs = node.op, node.outputs()
    assert card is not None
    if outputs[0] in kept or card.kernel_name() not in _PURE or not _is_builtin(type(card)):
        return False
    found = None if card.few_kept else card.again(node.inputs, outputs)
    if card.private_outputs or not found or not states.isdisjoint((*found[1], outputs[0])):
        return False
    # What has no kernel on a GPU would run on the CPU, on copies.
    near = device_of(order.devices[outputs[0].node]) == CPU
    return near or recipe.find(found[0].kernel_name()) is not None


def _cost(order: Order, node: Node) -> Cost:
    """By the bytes that it moves, or the products that it adds up."""
    card = node.op
    assert card is not None
    moved = sum(order.size(e) for e in (*node.inputs, *node.outputs()))
    names = card.list_arguments()
    if "weight" not in names:
        return Cost(moved / BYTES_A_SECOND, card.kernel_name() not in _CHEAP)
    weight = order.shapes[node.inputs[names.index("weight")]]
    operations = 2 * prod(order.shapes[node.outputs()[0]]) * prod(weight[1:])
    return Cost(max(moved / BYTES_A_SECOND, operations / OPERATIONS_A_SECOND), True)


_CHEAP = frozenset(_core.pointwise_kernels()) | {"_reshape", "BatchNorm"}
