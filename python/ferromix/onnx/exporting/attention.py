"""Products of queries, keys and values that lie in one tensor."""

from __future__ import annotations

import math

import numpy as np

from .site import Site, translates

__all__: list[str] = []


def _split(at: Site, i: int, parts: int) -> list[str]:
    """Each part of input `i` as (batch * heads, length, size)."""
    size = at.extent(2, i) // (at.attrs["heads"] * parts)
    apart = at.reshape(at.inputs[i], [0, -1, parts, size])
    return [
        at.transpose(at.op("Gather", apart, np.int64(k), axis=2), 1, 0, 2) for k in range(parts)
    ]


def _scores(at: Site, queries: str, keys: str, size: int) -> str:
    scaled = at.op("Mul", queries, at.number(1 / math.sqrt(size)))
    return at.op("MatMul", scaled, at.swapped(keys, 3))


def _weighted(at: Site, weights: str, values: str) -> str:
    found = at.transpose(at.op("MatMul", weights, values), 1, 0, 2)
    return at.reshape(found, [0, -1, at.out_partial()[2]])


@translates("_contrib_interleaved_matmul_selfatt_qk")
def _self_scores(at: Site) -> str:
    queries, keys, _ = _split(at, 0, 3)
    return _scores(at, queries, keys, at.extent(2) // (3 * at.attrs["heads"]))


@translates("_contrib_interleaved_matmul_selfatt_valatt")
def _self_values(at: Site) -> str:
    return _weighted(at, at.inputs[1], _split(at, 0, 3)[2])


@translates("_contrib_interleaved_matmul_encdec_qk")
def _other_scores(at: Site) -> str:
    queries, keys = _split(at, 0, 1)[0], _split(at, 1, 2)[0]
    return _scores(at, queries, keys, at.extent(2) // at.attrs["heads"])


@translates("_contrib_interleaved_matmul_encdec_valatt")
def _other_values(at: Site) -> str:
    return _weighted(at, at.inputs[1], _split(at, 0, 2)[1])
