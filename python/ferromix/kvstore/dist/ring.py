"""Sums and copies around a ring of processes, in segments, so that sums overlap with transfers.

Each process owns a chunk. In the first half, chunks go around and are added to on the way, until
each is complete at its owner; in the second half the complete ones go around. Every process sends
and receives about twice the bytes, whatever their number (Patarasuk and Yuan, "Bandwidth optimal
all-reduce algorithms for clusters of workstations", 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._core import add_buffers
from .mpi import Request
from .peers import DATA, Peers

__all__ = ["all_gather", "even_bounds", "reduce_scatter"]

_SEGMENT = 1 << 20
"""Bytes of a segment."""
_AHEAD = 2
"""Segments that may arrive before they are used."""

Bounds = Sequence[int]
"""Where each chunk begins, in bytes, and at last where the last one ends."""


def even_bounds(count: int, size: int, parts: int) -> list[int]:
    """Bounds of `count` elements of `size` bytes in equal parts."""
    return [count * i // parts * size for i in range(parts + 1)]


def _segments(bounds: Bounds, chunk: int) -> list[slice]:
    start, stop = bounds[chunk], bounds[chunk + 1]
    return [slice(at, min(at + _SEGMENT, stop)) for at in range(start, stop, _SEGMENT)]


def reduce_scatter(
    peers: Peers,
    source: np.ndarray,
    target: np.ndarray,
    bounds: Bounds,
    dtype: str,
    what: Callable[[], str],
) -> None:
    """Makes this process's chunk of `target` the sum over all processes of that of `source`.

    Parameters
    ----------
    peers
        The processes; all call this at the same time.
    source, target
        Bytes of equal numbers, maybe the same; all of `target` is overwritten.
    bounds
        Those of the chunks, by owner.
    dtype
        The type of the elements.
    what
        Says what this is, for errors.
    """
    rank, size = peers.rank, peers.size
    if size == 1:
        if source is not target:
            target[...] = source
        return
    chunks = [(rank - 2 - step) % size for step in range(size - 1)]
    parts = [(step, part) for step, c in enumerate(chunks) for part in _segments(bounds, c)]
    right, left = (rank + 1) % size, (rank - 1) % size
    spare = [np.empty(_SEGMENT, np.uint8) for _ in range(min(_AHEAD + 1, len(parts)))]

    def receive(number: int) -> Request:
        part = parts[number][1]
        return peers.comm.receive(
            spare[number % len(spare)][: part.stop - part.start], left, DATA
        )

    under_way = [receive(number) for number in range(min(_AHEAD, len(parts)))]
    sends = [
        peers.comm.send(source[part], right, DATA)
        for part in _segments(bounds, (rank - 1) % size)
    ]
    for number, (step, part) in enumerate(parts):
        if number + _AHEAD < len(parts):
            under_way.append(receive(number + _AHEAD))
        peers.finish(under_way[number : number + 1], what)
        came = spare[number % len(spare)][: part.stop - part.start]
        add_buffers(dtype, target[part], source[part], came)
        if step < size - 2:
            sends.append(peers.comm.send(target[part], right, DATA))
    peers.finish(sends, what)


def all_gather(
    peers: Peers, target: np.ndarray, bounds: Bounds, what: Callable[[], str]
) -> None:
    """Gives everybody each chunk of `target` as its owner has it; parameters as above."""
    rank, size = peers.rank, peers.size
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = [(rank - 1 - step) % size for step in range(size - 1)]
    parts = [(step, part) for step, c in enumerate(chunks) for part in _segments(bounds, c)]
    under_way = [peers.comm.receive(target[part], left, DATA) for _, part in parts]
    sends = [
        peers.comm.send(target[part], right, DATA)
        for part in (_segments(bounds, rank) if size > 1 else ())
    ]
    for number, (step, part) in enumerate(parts):
        peers.finish(under_way[number : number + 1], what)
        if step < size - 2:
            sends.append(peers.comm.send(target[part], right, DATA))
    peers.finish(sends, what)
