"""How long the results of a graph are needed, given the order of execution."""

from __future__ import annotations

from collections.abc import Sequence

from .node import Entry, Node

__all__ = ["last_reads", "last_uses"]


def last_reads(order: Sequence[Node]) -> dict[Entry, int]:
    """The last step at which the values of each input are read.

    Inputs that are ignored read nothing: of one that nothing else reads it is -1.
    """
    return _last(order, count_ignored=False)


def last_uses(order: Sequence[Node]) -> dict[Entry, int]:
    """The last step that takes each input, be it for its shape only."""
    return _last(order, count_ignored=True)


def _last(order: Sequence[Node], count_ignored: bool) -> dict[Entry, int]:
    last: dict[Entry, int] = {}
    for step, node in enumerate(order):
        assert node.op is not None
        ignored = () if count_ignored else node.op.ignored_inputs()
        for i, entry in enumerate(node.inputs):
            if i not in ignored:
                last[entry] = step
            else:
                last.setdefault(entry, -1)
    return last
