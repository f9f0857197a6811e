"""The memory plan: which results of a graph may share a buffer, given the order of execution.

Results whose lives do not overlap share memory; an operator that allows it writes over an input
that nobody needs any more; a reshape becomes a view. Places are handed out to the largest results
first, in buffers that earlier ones opened where there is room for the whole life (greedy by size:
Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020). Lives are
counted in steps of the order, so that the plan holds for any engine which keeps reads and writes
of one buffer in that order. Since such an engine orders even users of different parts of a buffer,
a place is preferred where few others are alive.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..context import Context
from .liveness import last_reads
from .node import Entry, Node, entry_name

__all__ = ["MemoryPlan", "peak_of", "plan_memory"]

VIEWS = ("_copy", "_reshape")
"""Kernels whose output holds the elements of their input in the same order."""

ALIGNMENT = 64
"""Offsets in a buffer are multiples of this, in bytes."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where each result of a graph lives.

    Attributes
    ----------
    buffers
        The size of each buffer in bytes.
    devices
        The device of each buffer.
    places
        The buffer of each result that is in one, and its offset there in bytes.
    inplace
        The input over which a result is written, where that is so.
    views
        The input that a result is a view of; its node need not run.
    peak
        The bytes alive at the worst step, below which no plan of this order can go.
    """

    buffers: list[int]
    devices: list[Context | None]
    places: dict[Entry, tuple[int, int]]
    inplace: dict[Entry, Entry]
    views: dict[Entry, Entry]
    peak: int
    sizes: Mapping[Entry, int]

    @property
    def total(self) -> int:
        """The bytes of all buffers."""
        return sum(self.buffers)

    def __str__(self) -> str:
        rows = [f"{'result':40} {'bytes':>12}  place"]
        for entry, size in self.sizes.items():
            if entry in self.views:
                place = f"view of {entry_name(self.views[entry])}"
            elif entry in self.places:
                buffer, offset = self.places[entry]
                place = f"buffer {buffer} at {offset}"
                if entry in self.inplace:
                    place += f", over {entry_name(self.inplace[entry])}"
            else:
                continue
            rows.append(f"{entry_name(entry):40} {size:>12}  {place}")
        rows += [f"buffer {i}: {size} bytes" for i, size in enumerate(self.buffers)]
        rows.append(f"{self.total} bytes in {len(self.buffers)} buffers, {self.peak} at the peak")
        return "\n".join(rows)


@dataclass(eq=False, slots=True)
class _Life:
    """Results that share memory because each takes the place of, or is a view of, another.

    `apart` are lives that end before, but whose memory must still not be written at `first`.
    `rests` are smaller results that begin where this one does, each from the end of the one before.
    """

    size: int
    first: int
    last: int
    fixed: bool
    device: Context | None
    entries: list[Entry]
    apart: list[_Life] = field(default_factory=list)
    rests: list[_Life] = field(default_factory=list)
    whole: _Life | None = None

    def steps(self) -> int:
        """The steps of this life, as bits."""
        return ((1 << (self.last - self.first + 1)) - 1) << self.first

    def all_steps(self) -> int:
        """Those of the rests, too."""
        found = self.steps()
        for rest in self.rests:
            found |= rest.steps()
        return found

    def clashes(self, other: _Life) -> bool:
        """Whether the two may not share a buffer."""
        overlap = self.first <= other.last and other.first <= self.last
        return overlap or other in self.apart or self in other.apart


@dataclass(slots=True)
class _Buffer:
    """A buffer and the lives that have a place in it, with their offsets.

    The bits of `full` are the steps at which one life fills the whole buffer.
    """

    size: int
    device: Context | None
    members: list[tuple[_Life, int]]
    full: int

    def fit(self, life: _Life) -> tuple[int, int, int] | None:
        """The tightest place for `life`: how many others are alive, bytes left over, offset."""
        lives = (life, *life.rests)
        busy = sorted(
            (at, at + one.size)
            for one, at in self.members
            if any(some.clashes(one) for some in lives)
        )
        gaps: list[tuple[int, int, int]] = []
        start = 0
        for low, high in [*busy, (self.size, self.size)]:
            if low - start >= life.size:
                gaps.append((len(busy), low - start - life.size, start))
            start = max(start, -(-high // ALIGNMENT) * ALIGNMENT)
        return min(gaps, default=None)


def plan_memory(
    order: Sequence[Node],
    sizes: Mapping[Entry, int],
    fixed: Collection[Entry],
    viewable: Collection[Entry] = (),
    devices: Mapping[Node, Context] | None = None,
) -> MemoryPlan:
    """Plans the memory of one run of `order`.

    Parameters
    ----------
    order
        The operator nodes in the order of execution.
    sizes
        The bytes of every output of `order` and of every input that is not a variable.
    fixed
        Results that have memory of their own, such as the outputs of the graph. Variables are
        fixed without being listed.
    viewable
        Fixed results and variables of which a reshape may be a view.
    devices
        Where each node runs, and each variable is. Memory is shared on one device only; None stands
        for the same one everywhere.
    """
    planner = _planned(order, sizes, fixed, viewable, devices or {})
    plan = planner.finish()
    if planner.shrinks and plan.total > plan.peak:
        # Results that lie over what they are made from leave less choice of places.
        other = _planned(order, sizes, fixed, viewable, devices or {}, may_shrink=False).finish()
        return min(plan, other, key=lambda one: one.total)
    return plan


def peak_of(
    order: Sequence[Node],
    sizes: Mapping[Entry, int],
    fixed: Collection[Entry],
    viewable: Collection[Entry] = (),
    devices: Mapping[Node, Context] | None = None,
) -> int:
    """The bytes alive at the worst step of `order`, without a plan; parameters as there."""
    return _peak(_planned(order, sizes, fixed, viewable, devices or {}).own_lives())


def _planned(
    order: Sequence[Node],
    sizes: Mapping[Entry, int],
    fixed: Collection[Entry],
    viewable: Collection[Entry],
    devices: Mapping[Node, Context],
    may_shrink: bool = True,
) -> _Planner:
    """A planner that has gone through all steps."""
    planner = _Planner(order, sizes, fixed, viewable, devices, may_shrink)
    for step, node in enumerate(order):
        planner.place(step, node)
    return planner


class _Planner:
    """Goes through the steps and groups results that share memory, then hands out buffers."""

    def __init__(
        self,
        order: Sequence[Node],
        sizes: Mapping[Entry, int],
        fixed: Collection[Entry],
        viewable: Collection[Entry],
        devices: Mapping[Node, Context],
        may_shrink: bool,
    ) -> None:
        self.may_shrink = may_shrink
        self.shrinks = False
        self.sizes = sizes
        self.fixed = set(fixed)
        self.viewable = set(viewable)
        self.devices = devices
        self.last = last_reads(order)
        self.lives: dict[Entry, _Life] = {}
        self.inplace: dict[Entry, Entry] = {}
        self.views: dict[Entry, Entry] = {}

    def place(self, step: int, node: Node) -> None:
        """Decides for each output of `node` whether it shares the memory of an input."""
        card = node.op
        assert card is not None
        taken: set[int] = set()
        replaced: set[int] = set()
        if card.kernel_name() in VIEWS and self._view(node):
            return
        for i, o in (*card.inplace_options(), *self._options(node)):
            out = node.outputs()[o]
            if o in taken or i in replaced or not self._is_wanted(out):
                continue
            if self._may_replace(step, node, i, out):
                self._join(out, node.inputs[i])
                self.inplace[out] = node.inputs[i]
                taken.add(o)
                replaced.add(i)
        ignored = [node.inputs[i] for i in card.ignored_inputs()]
        apart = [self.lives[e] for e in ignored if e in self.lives]
        for out in node.outputs():
            if out.output not in taken and self._is_wanted(out):
                last = max(step, self.last[out])
                device = self.devices.get(node)
                life = _Life(self.sizes[out], step, last, False, device, [out], apart)
                self.lives[out] = life
                if self.may_shrink:
                    self._shrink(step, node, life)

    def _shrink(self, step: int, node: Node, life: _Life) -> None:
        """Has a result begin where an input does that dies here, if the operator allows it."""
        (out,) = life.entries
        for i, o in self._options(node):
            source = self.lives.get(node.inputs[i])
            if o != out.output or source is None or source.fixed or source.last != step:
                continue
            alone = sum(self.lives.get(e) is source for e in node.inputs) == 1
            if alone and self._is_near(node.inputs[i], node) and 2 * life.size <= source.size:
                life.whole = source.whole or source
                life.whole.rests.append(life)
                self.shrinks = True
                life.first = step + 1
                life.last = max(life.last, life.first)
                self.inplace[out] = node.inputs[i]
                return

    def _options(self, node: Node) -> list[tuple[int, int]]:
        """Which inputs a result may take the place of where the node runs."""
        device = self.devices.get(node)
        assert node.op is not None
        on_cpu = device is None or device.device_type.startswith("cpu")
        return node.op.cpu_inplace_options() if on_cpu else []

    def own_lives(self) -> list[_Life]:
        """The lives that need room in a buffer."""
        return list(dict.fromkeys(life for life in self.lives.values() if not life.fixed))

    def finish(self) -> MemoryPlan:
        """Hands out places, to the largest lives first."""
        lives = self.own_lives()
        buffers: list[_Buffer] = []
        places: dict[Entry, tuple[int, int]] = {}
        wholes = [life for life in lives if life.whole is None]
        for life in sorted(wholes, key=lambda one: (-one.size, -one.last)):
            steps = life.all_steps()
            fits = [
                (*fit, b)
                for b, buffer in enumerate(buffers)
                if buffer.device == life.device
                and not buffer.full & steps
                and (fit := buffer.fit(life))
            ]
            _, _, offset, number = min(fits, default=(0, 0, 0, len(buffers)))
            if number == len(buffers):
                buffers.append(_Buffer(life.size, life.device, [], 0))
            if life.size == buffers[number].size:
                buffers[number].full |= life.steps()
            for part in (life, *life.rests):
                buffers[number].members.append((part, offset))
                places.update(dict.fromkeys(part.entries, (number, offset)))
        return MemoryPlan(
            [buffer.size for buffer in buffers],
            [buffer.device for buffer in buffers],
            places,
            self.inplace,
            self.views,
            _peak(lives),
            self.sizes,
        )

    def _is_wanted(self, entry: Entry) -> bool:
        return entry in self.last and entry not in self.fixed

    def _view(self, node: Node) -> bool:
        """Makes the output a view of the input where both are ours to decide on."""
        source, out = node.inputs[0], node.outputs()[0]
        if not self._is_wanted(out) or not self._is_near(source, node):
            return False
        if source not in self.lives:
            if source not in self.viewable:
                return False
            self.lives[source] = _Life(0, -1, -1, True, None, [source])
        self._join(out, source)
        self.views[out] = source
        return True

    def _may_replace(self, step: int, node: Node, i: int, out: Entry) -> bool:
        """Whether input `i` is read here for the last time, by this argument alone."""
        life = self.lives.get(node.inputs[i])
        if life is None or life.fixed or life.last != step:
            return False
        if not self._is_near(node.inputs[i], node):
            return False
        if life.size != self.sizes[out]:
            return False
        return sum(self.lives.get(e) is life for e in node.inputs) == 1

    def _is_near(self, entry: Entry, node: Node) -> bool:
        """Whether a value is on the device of the node that reads it."""
        return self.devices.get(entry.node) == self.devices.get(node)

    def _join(self, out: Entry, source: Entry) -> None:
        life = self.lives[source]
        life.entries.append(out)
        life.last = max(life.last, self.last[out])
        self.lives[out] = life


def _peak(lives: Sequence[_Life]) -> int:
    """The largest sum of sizes that are alive at one step."""
    change: dict[int, int] = {}
    for life in lives:
        change[life.first] = change.get(life.first, 0) + life.size
        change[life.last + 1] = change.get(life.last + 1, 0) - life.size
    alive = peak = 0
    for step in sorted(change):
        alive += change[step]
        peak = max(peak, alive)
    return peak
