"""How the items of a batch reach the other processes: small ones together, large ones alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .item import Item, Kind, Piece
from .peers import Peers
from .ring import all_gather, even_bounds, reduce_scatter

__all__ = ["run"]

What = Callable[[], str]


def run(peers: Peers, items: Sequence[Item]) -> None:
    """Runs items of one kind and one type; every process has the same ones in the same order.

    Raises
    ------
    MXNetError
        Where a process is lost, stuck or failed.
    """
    kind = items[0].name.kind

    def what() -> str:
        rest = f" and {len(items) - 1} more" if len(items) > 1 else ""
        return f"{items[0].label}{rest}"

    if kind == Kind.GATHER:
        _gather_bytes(peers, items[0], what)
    elif kind == Kind.COLLECT:
        _collect(peers, items[0], what)
    elif len(items) == 1:
        item = items[0]
        assert item.piece is not None
        _move(peers, kind, item.piece, _bounds_of(peers, item), item.dtype, what)
    else:
        _run_packed(peers, items, what)


def _bounds_of(peers: Peers, item: Item) -> list[int]:
    width = np.dtype(_bits(item.dtype)).itemsize
    if item.owner < 0 or item.name.kind == Kind.SUM:
        return even_bounds(item.nbytes // width, width, peers.size)
    return [0 if rank <= item.owner else item.nbytes for rank in range(peers.size + 1)]


def _bits(dtype: str) -> str:
    return "uint16" if dtype == "bfloat16" else dtype


def _move(
    peers: Peers, kind: int, piece: Piece, bounds: Sequence[int], dtype: str, what: What
) -> None:
    if kind != Kind.SHARE:
        reduce_scatter(peers, piece.source, piece.target, bounds, dtype, what)
    if kind != Kind.REDUCE:
        all_gather(peers, piece.target, bounds, what)


def _run_packed(peers: Peers, items: Sequence[Item], what: What) -> None:
    """Moves many values as one, each within the chunk of its owner."""
    order = sorted(items, key=lambda item: item.owner)
    ends = np.cumsum([0, *(item.nbytes for item in order)]).tolist()
    whole = np.empty(ends[-1], np.uint8)
    places = [whole[start:stop] for start, stop in zip(ends[:-1], ends[1:], strict=True)]
    kind = items[0].name.kind
    if kind == Kind.SUM:
        width = np.dtype(_bits(items[0].dtype)).itemsize
        bounds = even_bounds(ends[-1] // width, width, peers.size)
    else:
        owners = np.array([item.owner for item in order])
        bounds = [ends[i] for i in np.searchsorted(owners, np.arange(peers.size + 1)).tolist()]
    for item, place in zip(order, places, strict=True):
        assert item.piece is not None
        if kind != Kind.SHARE or item.owner == peers.rank:
            place[...] = item.piece.source
    _move(peers, kind, Piece(whole, whole), bounds, items[0].dtype, what)
    for item, place in zip(order, places, strict=True):
        assert item.piece is not None
        if kind != Kind.REDUCE or item.owner == peers.rank:
            item.piece.target[...] = place


def _collect(peers: Peers, item: Item, what: What) -> None:
    """Everybody's bytes, of one number, in rows."""
    assert item.piece is not None
    mine, rows = item.piece
    bounds = [mine.nbytes * rank for rank in range(peers.size + 1)]
    rows[bounds[peers.rank] : bounds[peers.rank + 1]] = mine
    all_gather(peers, rows, bounds, what)


def _gather_bytes(peers: Peers, item: Item, what: What) -> None:
    """Everybody's bytes, which may be of different numbers."""
    assert item.piece is not None
    mine = item.piece.source
    counts = np.zeros(peers.size, np.int64)
    counts[peers.rank] = mine.nbytes
    all_gather(peers, counts.view(np.uint8), even_bounds(peers.size, 8, peers.size), what)
    bounds = [0, *np.cumsum(counts).tolist()]
    whole = np.empty(bounds[-1], np.uint8)
    whole[bounds[peers.rank] : bounds[peers.rank + 1]] = mine
    all_gather(peers, whole, bounds, what)
    item.received = [
        whole[start:stop].tobytes() for start, stop in zip(bounds[:-1], bounds[1:], strict=True)
    ]
