"""Recipes of products of matrices and of batches of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Product,
    Recipe,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_folds import packed_walk
from .gemm import WIDTH, split

__all__ = ["Operand", "product"]


@dataclass(frozen=True)
class Operand:
    """Matrices in memory, one after another, each transposed or not.

    Parameters
    ----------
    at
        Where the first one starts.
    rows, columns
        Extents of the matrix that is multiplied.
    flip
        Whether memory holds its columns one after another.
    """

    at: Arg
    rows: int
    columns: int
    flip: bool = False

    def steps(self) -> tuple[int, int]:
        """Elements from one row to the next, and from one column to the next."""
        return (1, self.rows) if self.flip else (self.columns, 1)


LIBRARY_ROOM = 4 << 20
"""Bytes for sharing the depth among blocks, as cuBLAS recommends for most GPUs."""


def product(
    job: Job, a: Operand, b: Operand, out: int, bias: Arg | None = None, count: int = 1
) -> tuple[list[Launch | Product], int]:
    """Launches for ``count`` products ``a b + bias``, and bytes of their temporary memory."""
    if job.limits.has_blas and max(a.rows, b.columns, a.columns, count) < 1 << 31:
        return by_library(job, a, b, out, bias, count)
    dtype = job.inputs[0][1]
    m, n, depth = a.rows, b.columns, a.columns
    how = split(job.limits, dtype, m, n, depth, count)
    (a_row, a_depth), (b_depth, b_column) = a.steps(), b.steps()
    steps = m * depth, a_row, a_depth, depth * n, b_column, b_depth
    sizes = struct(*map(int64, (count, m, n, depth, *steps)))
    elements = count * m * n
    if elements == 0:
        return [], 0
    more, sums = bias or nothing(), how.parts * elements * WIDTH[dtype] * (how.parts > 1)
    grid, block = (how.tiles, how.parts, min(count, 65535)), (how.threads, 1, 1)
    args = a.at, b.at, more, output_at(out), workspace(), sizes, req(out)
    launches: list[Launch | Product] = [Launch("dot", f"dot_{how.size}_{dtype}", grid, block, args)]
    if how.parts > 1:
        rest = map(int64, (how.parts, elements, n))
        last = workspace(), more, output_at(out), *rest, req(out)
        launches.append(job.spread("dot", f"dot_{dtype}_finish", elements, *last))
    return launches, sums


def by_library(
    job: Job, a: Operand, b: Operand, out: int, bias: Arg | None, count: int
) -> tuple[list[Launch | Product], int]:
    """The same: the bias goes into every row, and the library adds the products."""
    dtype = job.inputs[0][1]
    m, n, depth = a.rows, b.columns, a.columns
    elements = count * m * n
    room = -(-min(LIBRARY_ROOM, 16 * elements * WIDTH[dtype]) // 256) * 256
    if elements == 0:
        return [], 0
    launches: list[Launch | Product] = []
    if bias is not None:
        layout = packed_walk((count * m, n), [n, 1], [0, 1])
        assert layout is not None, "two axes are not too many"
        rows = bias, output_at(out), layout, req(out)
        launches.append(job.spread("elemwise", f"elemwise_copy_{dtype}", elements, *rows))
    factors, flips = (a.at, b.at), (a.flip, b.flip)
    given = factors, flips, out, dtype, count, (m, n, depth), bias is not None, room
    launches.append(Product(*given))
    return launches, room


@recipe("dot", "batch_dot")
def dot(job: Job) -> Recipe | None:
    """One product, or one for each matrix of a batch."""
    (left, _), (right, _) = job.inputs
    flip_a, flip_b = job.attrs["transpose_a"], job.attrs["transpose_b"]
    if job.name == "dot":
        count, depth = 1, left[0 if flip_a else -1]
        m = prod(left[1:] if flip_a else left[:-1])
        n = prod(right[:-1] if flip_b else right[1:])
    else:
        count = prod(left[:-2])
        m, depth = left[-2:][::-1] if flip_a else left[-2:]
        n = right[-2 if flip_b else -1]
    a = Operand(input_at(0), m, depth, flip_a)
    b = Operand(input_at(1), depth, n, flip_b)
    launches, temporary = product(job, a, b, 0, count=count)
    return Recipe(tuple(launches), temporary)
