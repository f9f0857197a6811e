"""Products of matrices."""

from __future__ import annotations

from math import prod

import numpy as np

from ...symbol import Symbol
from .use import Use, reads

__all__: list[str] = []


@reads("Gemm")
def _gemm(at: Use) -> Symbol:
    alpha, beta = at.attrs.get("alpha", 1.0), at.attrs.get("beta", 1.0)
    first, second = at.attrs.get("transA", 0), at.attrs.get("transB", 0)
    plain = alpha == 1 and (beta == 1 or not at.has(2)) and not first
    columns = at.shape(1)[0 if second else 1]
    if plain and at.is_constant(1) and (not at.has(2) or at.shape(2) == (columns,)):
        weight = at.symbol(1) if second else at.parameter(1, _transposed(at.constant(1)))
        bias = [at.symbol(2)] if at.has(2) else []
        operands = (at.symbol(), weight, *bias)
        return at.last("FullyConnected", *operands, num_hidden=columns, no_bias=not bias)
    pair = at.symbol(0), at.symbol(1)
    found = at.op("dot", *pair, transpose_a=bool(first), transpose_b=bool(second))
    if alpha != 1:
        found = at.op("_mul_scalar", found, scalar=alpha)
    if not at.has(2):
        return found
    added = at.symbol(2) if beta == 1 else at.op("_mul_scalar", at.symbol(2), scalar=beta)
    return at.last("broadcast_add", found, added)


def _transposed(matrix: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(matrix.T)


@reads("MatMul")
def _matmul(at: Use) -> Symbol:
    ranks = at.rank(0), at.rank(1)
    if ranks[0] > 1 and ranks[1] == 2 and at.is_constant(1) and at.constant(1).dtype.kind == "f":
        weight = at.constant(1)
        operands = at.symbol(), at.parameter(1, _transposed(weight))
        hidden = weight.shape[1]
        return at.last("FullyConnected", *operands, num_hidden=hidden, no_bias=True, flatten=False)
    if max(ranks) <= 2:
        return at.last("dot", at.symbol(0), at.symbol(1))
    if ranks[1] == 2:
        return at.last("dot", at.symbol(0), at.symbol(1))
    if ranks[1] == 1:
        return at.last("dot", at.symbol(0), at.symbol(1))
    return _stacked(at, *ranks)


def _stacked(at: Use, first: int, second: int) -> Symbol:
    """Of stacks of matrices, whose leading axes broadcast."""
    a, b = at.symbol(0), at.symbol(1)
    shapes = [list(at.shape(0)), list(at.shape(1))]
    if first == 1:
        a = at.op("expand_dims", a, axis=0)
        shapes[0].insert(0, 1)
    rank = max(len(shapes[0]), second)
    stacks = [(1,) * (rank - len(s)) + tuple(s[:-2]) for s in shapes]
    if stacks[0] != stacks[1]:
        if any(n < 0 for s in stacks for n in s):
            raise at.error(
                f"stacks of matrices of shapes {at.shape(0)} and {at.shape(1)} must be known"
            )
        common = np.broadcast_shapes(*stacks)
        ends = [tuple(s[-2:]) for s in shapes]
        if any(n < 0 for e in ends for n in e):
            raise at.error("matrices must be known where their stacks broadcast")
        a, b = (
            at.op("broadcast_to", at.op("Reshape", v, shape=(*own, *end)), shape=(*common, *end))
            for v, own, end in zip((a, b), stacks, ends, strict=True)
        )
    operator = "batch_dot" if rank == 3 else "_linalg_gemm2"
    found = at.op(operator, a, b)
    return at.op("squeeze", found, axis=rank - 2) if first == 1 else found


@reads("Einsum")
def _einsum(at: Use) -> Symbol:
    """Of two tensors: axes of both that stay, axes that are summed over, and each one's own."""
    left, arrow, wanted = at.attrs["equation"].replace(" ", "").partition("->")
    terms = left.split(",")
    plain = arrow and all(t.isalpha() and len(set(t)) == len(t) for t in terms)
    if len(terms) != 2 or not plain or not set(wanted) <= set(left):
        raise at.error(f"equation '{at.attrs['equation']}'")
    a, b = terms
    stays = [c for c in a if c in b and c in wanted]
    summed = [c for c in a if c in b and c not in wanted]
    own = [[c for c in t if c not in o] for t, o in ((a, b), (b, a))]
    if any(c not in wanted for part in own for c in part):
        raise at.error(f"equation '{at.attrs['equation']}' sums over an axis of one tensor")
    sizes = dict(zip(a + b, at.extents(0) + at.extents(1), strict=True))

    def matrix(i: int, *parts: list[str]) -> Symbol:
        order = [terms[i].index(c) for part in parts for c in part]
        moved = at.op("transpose", at.symbol(i), axes=tuple(order))
        return at.op("Reshape", moved, shape=tuple(prod(sizes[c] for c in p) for p in parts))

    product = at.op("batch_dot", matrix(0, stays, own[0], summed), matrix(1, stays, summed, own[1]))
    letters = [*stays, *own[0], *own[1]]
    apart = at.op("Reshape", product, shape=tuple(sizes[c] for c in letters))
    return at.last("transpose", apart, axes=tuple(letters.index(c) for c in wanted))
