"""The pass that computes results of the forward pass again for the backward pass, instead of
keeping them.

What is dropped is computed once more right before its first reader. The chain of what has to be
computed for that is cut at places where little crosses, as in Chen et al., Training Deep Nets with
Sublinear Memory Cost, 2016. The same kernels run on the same inputs, so gradients keep their bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from .node import Entry, Node
from .rewired import rewired

__all__ = ["Cost", "Costs", "is_forced", "recomputed", "select"]

FLAGS = ("__force_mirroring__", "force_mirroring", "__mirror_stage__", "mirror_stage")
"""Attributes that ask for it, as in MXNet."""


def is_forced(node: Node) -> bool:
    """Whether the user asks for a node to be computed again."""
    if not node.attrs:
        return False
    given = next((node.attrs[name] for name in FLAGS if name in node.attrs), "")
    return str(given).lower() not in ("", "0", "false", "none")


def recomputed(
    backward: Sequence[Node], dropped: Mapping[Entry, Node], alike: Callable[[Entry, Entry], None]
) -> list[Node]:
    """`backward` with results of the forward pass computed again where they are read.

    Parameters
    ----------
    backward
        The nodes of the backward pass, each after its inputs.
    dropped
        The nodes of the forward pass that are to run again, by their first outputs. Their cards can
        do that (see :meth:`OperatorProperty.again`).
    alike
        Is told of each new entry, and of the one that it stands for.
    """
    there: dict[Entry, Entry] = {}
    result: list[Node] = []

    def moved(entries: Sequence[Entry]) -> list[Entry]:
        return [there.get(e, e) for e in entries]

    def add(wanted: Entry) -> None:
        """Adds what gives a result again, after what that needs."""
        stack = [wanted]
        while stack:
            entry = stack[-1]
            node = dropped[entry]
            assert node.op is not None
            found = node.op.again(node.inputs, node.outputs())
            assert found is not None
            card, inputs = found
            missing = [e for e in inputs if e in dropped and e not in there]
            if missing and entry not in there:
                stack += missing
                continue
            stack.pop()
            if entry not in there:
                name = f"{node.name}_again"
                new = Node(card, name, moved(inputs), node.attrs)
                there[entry] = Entry(new, 0)
                alike(there[entry], entry)
                result.append(new)

    for node in backward:
        for entry in node.inputs:
            if entry in dropped and entry not in there:
                add(entry)
        result.append(rewired(node, moved(node.inputs)))
    return result


@dataclass(frozen=True, slots=True)
class Cost:
    """What a node costs: seconds, about, and whether it takes longer than its memory does."""

    seconds: float
    heavy: bool


Costs = Mapping[Entry, Cost]
"""Of the nodes that may be dropped, by their first outputs."""


def select(
    forward: Sequence[Node],
    sizes: Mapping[Entry, int],
    costs: Costs,
    peak: Callable[[Collection[Entry]], int],
    budget: int,
    most: float = inf,
) -> set[Entry]:
    """What to drop so that a pass takes at most `budget` bytes, at little cost.

    If nothing does, that with which it takes least.

    Parameters
    ----------
    forward
        The nodes of the forward pass, each after its inputs.
    sizes
        The bytes of results.
    costs
        What those that may be dropped cost.
    peak
        The bytes that a pass takes without keeping the given results.
    budget
        The bytes that it may take.
    most
        The seconds that recomputation may take.
    """
    best: set[Entry] = set()
    least, price = peak(best), 0.0
    if least <= budget:
        return best
    for chosen in _choices(forward, sizes, costs):
        seconds = sum(costs[e].seconds for e in chosen)
        # Too dear, also where what is chosen is small enough already.
        if seconds > most or (least <= budget and seconds >= price):
            continue
        found = peak(chosen)
        if (max(found, budget), seconds) < (max(least, budget), price):
            best, least, price = chosen, found, seconds
    return best


def _choices(
    forward: Sequence[Node], sizes: Mapping[Entry, int], costs: Costs
) -> Iterator[set[Entry]]:
    """Sets to drop: what is cheap, then what is dear, too, each cut in several ways, and parts of
    it."""
    order = [e for n in forward if (e := n.outputs()[0]) in costs]
    cheap = [e for e in order if not costs[e].heavy]
    heavy = [e for e in order if costs[e].heavy]
    # The most memory for the time first.
    heavy.sort(key=lambda e: -sizes[e] / max(costs[e].seconds, 1e-12))
    crossing = _crossing(forward)
    seen: set[frozenset[Entry]] = {frozenset()}
    for share in (0, 0.25, 0.5, 0.75, 1) if heavy else (0,):
        level = {*cheap, *heavy[: round(len(heavy) * share)]}
        whole = sum(sizes[e] for e in level)
        for pieces in (0, 1, 2, 4, 8, 16, 32):
            most = whole // pieces if pieces else 0
            chosen = level - _cuts(forward, level, sizes, crossing, most)
            # Or only the first of it, which stays longest.
            for part in (0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1):
                some = frozenset([e for e in order if e in chosen][: round(len(chosen) * part)])
                if some not in seen:
                    seen.add(some)
                    yield set(some)


FEW = 4
"""Results that may cross a place where recomputation stops."""


def _crossing(forward: Sequence[Node]) -> list[list[Entry]]:
    """For each step the results that are read later, where they are few."""
    last = {e: step for step, node in enumerate(forward) for e in node.inputs}
    alive: dict[Entry, None] = {}
    ends: dict[int, list[Entry]] = {}
    found: list[list[Entry]] = []
    for step, node in enumerate(forward):
        for over in ends.pop(step, ()):
            alive.pop(over)
        for entry in node.outputs():
            if last.get(entry, -1) > step:
                alive[entry] = None
                ends.setdefault(last[entry], []).append(entry)
        found.append(list(alive) if len(alive) <= FEW else [])
    return found


def _cuts(
    forward: Sequence[Node],
    level: Collection[Entry],
    sizes: Mapping[Entry, int],
    crossing: Sequence[Sequence[Entry]],
    most: int,
) -> set[Entry]:
    """What to keep so that what is computed again at once comes to `most` bytes, about."""
    kept: set[Entry] = set()
    since = 0
    for step, node in enumerate(forward):
        entry = node.outputs()[0]
        since += sizes[entry] if entry in level else 0
        across = crossing[step]
        if since > most and (len(across) == 1 or (across and since > 4 * most > 0)):
            kept.update(across)
            since = 0
    return kept
