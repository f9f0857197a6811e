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

__all__ = ["MemoryPlan", "plan_memory"]

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
    """

    size: int
    first: int
    last: int
    fixed: bool
    device: Context | None
    entries: list[Entry]
    apart: list[_Life] = field(default_factory=list)

    def steps(self) -> int:
        """The steps of this life, as bits."""
        return ((1 << (self.last - self.first + 1)) - 1) << self.first

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
        busy = sorted((at, at + one.size) for one, at in self.members if life.clashes(one))
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
    planner = _Planner(order, sizes, fixed, viewable, devices or {})
    for step, node in enumerate(order):
        planner.place(step, node)
    return planner.finish()


class _Planner:
    """Goes through the steps and groups results that share memory, then hands out buffers."""

    def __init__(
        self,
        order: Sequence[Node],
        sizes: Mapping[Entry, int],
        fixed: Collection[Entry],
        viewable: Collection[Entry],
        devices: Mapping[Node, Context],
    ) -> None:
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
        for i, o in card.inplace_options():
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
                self.lives[out] = _Life(self.sizes[out], step, last, False, device, [out], apart)

    def finish(self) -> MemoryPlan:
        """Hands out places, to the largest lives first."""
        lives = list(dict.fromkeys(life for life in self.lives.values() if not life.fixed))
        buffers: list[_Buffer] = []
        places: dict[Entry, tuple[int, int]] = {}
        for life in sorted(lives, key=lambda one: (-one.size, -one.last)):
            steps = life.steps()
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
            buffers[number].members.append((life, offset))
            if life.size == buffers[number].size:
                buffers[number].full |= steps
            places.update(dict.fromkeys(life.entries, (number, offset)))
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
        source, out = node.inputs[0], Entry(node, 0)
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
