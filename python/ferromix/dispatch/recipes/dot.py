"""Recipes of products of matrices and of batches of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..recipe import (
    ADD,
    WRITE,
    Arg,
    Job,
    Launch,
    Product,
    Recipe,
    Step,
    float64,
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

__all__ = ["Matrices", "Operand", "library_room", "product", "products"]


@dataclass(frozen=True)
class Matrices:
    """Matrices of a batch, as elements lie in memory.

    Parameters
    ----------
    at
        The array.
    row, column
        Elements from one row to the next, and from one column to the next.
    batch
        Elements from one matrix to the next.
    first
        Elements before the first one.
    """

    at: Arg
    row: int
    column: int
    batch: int
    first: int = 0

    def flipped(self) -> Matrices:
        """The transposed ones."""
        return Matrices(self.at, self.column, self.row, self.batch, self.first)


Sizes = tuple[int, int, int, int]
"""Products, rows and columns of each, and how many terms an element sums."""


def sizes_arg(sizes: Sizes, a: Matrices, b: Matrices, out: Matrices, scale: float) -> Arg:
    """As an ``fm::Product``."""
    left = a.first, a.batch, a.row, a.column
    right = b.first, b.batch, b.column, b.row
    numbers = *sizes, *left, *right, out.first, out.batch, out.row
    return struct(*map(int64, numbers), float64(scale))


def products(
    job: Job,
    number: int,
    sizes: Sizes,
    a: Matrices,
    b: Matrices,
    out: Matrices,
    scale: float = 1.0,
    request: Arg | None = None,
) -> list[Step]:
    """Launches of products, times a number, that go anywhere in an output, in rows without gaps.

    With `request` they go into other memory, of the type of that output.
    """
    count, m, n, _ = sizes
    how = split(job.limits, job.outputs[number][1], m, n, 0, count)
    if count * m * n == 0:
        return []
    grid, block = (how.tiles, how.parts, min(count, 65535)), (how.threads, 1, 1)
    given = a.at, b.at, nothing(), out.at, nothing()
    args = *given, sizes_arg(sizes, a, b, out, scale), request or req(number)
    return [Launch("dot", f"dot_{how.size}_{job.outputs[number][1]}", grid, block, args)]


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
    job: Job,
    a: Operand,
    b: Operand,
    number: int | None,
    bias: Arg | None = None,
    count: int = 1,
    to: Arg | None = None,
    adds: bool = False,
) -> tuple[list[Step], int]:
    """Launches for ``count`` products ``a b + bias``, and bytes of their temporary memory.

    They go to the output of a number, or to a place, by the request for that output. Without one
    they are written, or added.
    """
    out = to or output_at(number or 0)
    how = (ADD if adds else WRITE) if number is None else req(number)
    if job.limits.has_blas and max(a.rows, b.columns, a.columns, count) < 1 << 31:
        return by_library(job, a, b, (out, number, how), bias, count, adds)
    dtype = job.inputs[0][1]
    m, n, depth = a.rows, b.columns, a.columns
    share = split(job.limits, dtype, m, n, depth, count)
    left, right = (Matrices(o.at, *o.steps(), o.rows * o.columns) for o in (a, b))
    into = Matrices(out, n, 1, m * n)
    sizes = sizes_arg((count, m, n, depth), left, right, into, 1.0)
    elements = count * m * n
    if elements == 0:
        return [], 0
    more, sums = bias or nothing(), share.parts * elements * WIDTH[dtype] * (share.parts > 1)
    grid, block = (share.tiles, share.parts, min(count, 65535)), (share.threads, 1, 1)
    args, entry = (a.at, b.at, more, out, workspace(), sizes, how), f"dot_{share.size}_{dtype}"
    launches: list[Step] = [Launch("dot", entry, grid, block, args)]
    if share.parts > 1:
        rest = map(int64, (share.parts, elements, n))
        last = workspace(), more, out, *rest, how
        launches.append(job.spread("dot", f"dot_{dtype}_finish", elements, *last))
    return launches, sums


def library_room(elements: int, dtype: str) -> int:
    """Bytes of temporary memory for products of so many elements."""
    return -(-min(LIBRARY_ROOM, 16 * elements * WIDTH[dtype]) // 256) * 256


def by_library(
    job: Job,
    a: Operand,
    b: Operand,
    to: tuple[Arg, int | None, Arg],
    bias: Arg | None,
    count: int,
    adds: bool,
) -> tuple[list[Step], int]:
    """The same: the bias goes into every row, and the library adds the products."""
    out, number, how = to
    dtype = job.inputs[0][1]
    m, n, depth = a.rows, b.columns, a.columns
    elements = count * m * n
    room = library_room(elements, dtype)
    if elements == 0:
        return [], 0
    launches: list[Step] = []
    if bias is not None:
        layout = packed_walk((count * m, n), [n, 1], [0, 1])
        assert layout is not None, "two axes are not too many"
        rows = bias, out, layout, how
        launches.append(job.spread("elemwise", f"elemwise_copy_{dtype}", elements, *rows))
    factors, flips = (a.at, b.at), (a.flip, b.flip)
    adding = adds or bias is not None
    given = factors, flips, out, number, dtype, count, (m, n, depth), adding, room
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
