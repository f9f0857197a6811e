"""Recipes of LayerNorm, InstanceNorm and GroupNorm, and of their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

from ...ops.family import FLOATS
from ...ops.shapes import normal_axis
from ..recipe import (
    Arg,
    Job,
    Launch,
    Limits,
    Recipe,
    Shape,
    field,
    float64,
    input_at,
    int32,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_folds import WIDEST, split, words
from .batch_norm import MOMENTS, WIDTHS, Parts

__all__: list[str] = []

PACK = 16
"""Bytes that a thread takes at once."""
FULL, LEAST_ROWS, MOST_ROWS = 8, 8, 64
"""Blocks for each processor; rows of a block, of which the sources have room for the last."""
MOST_STACKS = 65535
"""Blocks along y that a launch may have."""
NARROW_BLOCKS, NARROW_PARTS = 64, 24
"""Blocks for each processor, and those of the gradient, which leave sums behind."""
SIDE = 8
"""Columns side by side whose parts a block adds up: 64 bytes of each part."""
MOST_KEPT, MOST_KEPT_BACK = 8, 4
"""Packs of a lane that the sources have kernels for, and those of the gradient."""
MOST_COLUMNS = 16
"""Elements of a lane whose gradients of gamma and beta stay in registers."""


@dataclass(frozen=True)
class Rows:
    """Which elements are a row, how many gammas there are, and whether they run along a row."""

    outer: int
    length: int
    inner: int
    scales: int
    lengthwise: bool

    @property
    def count(self) -> int:
        return self.outer * self.inner

    @property
    def depth(self) -> int:
        """Elements that a gamma scales."""
        return self.count * self.length // max(1, self.scales)

    def arg(self) -> Arg:
        """As an ``fm::Rows``."""
        return words(self.outer, self.length, self.inner, self.scales, int(self.lengthwise))


def rows_of(job: Job, shape: Shape) -> Rows:
    """Those of the data."""
    if job.name.endswith("LayerNorm"):
        axis = normal_axis("LayerNorm", job.attrs["axis"], len(shape))
        return Rows(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), shape[axis], True)
    groups = job.attrs["num_groups"] if job.name.endswith("GroupNorm") else shape[1]
    return Rows(shape[0] * groups, prod(shape[1:]) // max(1, groups), 1, groups, False)


def reqs() -> Arg:
    """As an ``fm::Reqs``: an int and zeros for each."""
    return struct(*[part for k in range(3) for part in (req(k), int32(0))])


def one_type(job: Job) -> bool:
    """Whether all arrays have one type that there are kernels for."""
    types = {t for _, t in (*job.inputs, *job.outputs)}
    return len(types) == 1 and types <= set(FLOATS)


@dataclass(frozen=True)
class Lines:
    """How threads share rows without gaps whose elements each have a gamma.

    Parameters
    ----------
    pack
        Elements that a thread takes at once.
    """

    rows: Rows
    limits: Limits
    pack: int

    @staticmethod
    def of(job: Job, rows: Rows, dtype: str) -> Lines | None:
        """Those of a job; None where the general kernels run."""
        plain = rows.lengthwise and rows.inner == 1
        if not plain or not 0 < rows.count * rows.length < 1 << 31:
            return None
        most = PACK // WIDTHS[dtype]
        return Lines(rows, job.limits, most if rows.length % most == 0 else 1)

    @property
    def threads(self) -> int:
        """Of a block: whole warps."""
        return -(-self.limits.threads // 32) * 32

    @property
    def few(self) -> int:
        """Threads of a block whose registers are full."""
        return max(32, self.threads // 64 * 32)

    @property
    def packs(self) -> int:
        return self.rows.length // self.pack

    def each(self, most: int) -> int | None:
        """Packs that a lane has in registers, of a few numbers up to `most`; None for long rows.

        A row has as few lanes as have two packs each, up to a warp.
        """
        wanted = (k for k in (2, 4, 8) if self.packs <= 32 * k and k <= most)
        return next(wanted, None)

    def blocks(self, most: int) -> int:
        """Blocks of warps that have several short rows at once, up to `most` for a processor."""
        lanes = 1
        while lanes < 32 and 2 * lanes < self.packs:
            lanes *= 2
        each = self.few // lanes
        return max(1, min(-(-self.rows.count // each), most * self.limits.processors))

    @property
    def tiles(self) -> int:
        """Blocks that have a row's columns."""
        return -(-self.packs // self.threads)

    @property
    def per(self) -> int:
        """Rows of a block, few enough that all processors have some."""
        full = self.rows.count * self.tiles // (FULL * self.limits.processors)
        return max(LEAST_ROWS, min(MOST_ROWS, full))

    @property
    def stacks(self) -> int:
        """Blocks that share a column."""
        return -(-self.rows.count // self.per)

    def fits(self, most: int) -> bool:
        """Whether rows find room in registers, or blocks in a grid."""
        return self.each(most) is not None or self.stacks <= MOST_STACKS

    def over(self, entry: str, *args: Arg) -> Launch:
        """A launch of blocks with columns of some rows each."""
        return Launch("layer_norm", entry, (self.tiles, self.stacks, 1), (self.threads, 1, 1), args)

    @property
    def size(self) -> tuple[Arg, Arg]:
        return int32(self.rows.count), int32(self.rows.length)


def lines_forward(job: Job, lines: Lines, dtype: str) -> Recipe:
    """Rows in registers, or their moments first."""
    arrays = struct(*map(input_at, range(3)), *map(output_at, range(3)))
    threads, eps = (lines.few, 1, 1), job.number("eps")
    each = lines.each(MOST_KEPT)
    if each is not None:
        grid = lines.blocks(NARROW_BLOCKS), 1, 1
        args = arrays, *lines.size, eps, reqs()
        entry = f"layer_norm_narrow_{each}_{dtype}"
        return Recipe((Launch("layer_norm", entry, grid, threads, args),))
    count, length = lines.rows.count, lines.rows.length
    parts = Parts.of(job.limits, 1, count, length, dtype)
    assert parts is not None  # as there are lines
    given = input_at(0), workspace(), parts.along
    first = parts.launch("layer_norm", f"layer_norm_moments_{dtype}", *given)
    given = arrays, workspace(), int32(parts.parts), *lines.size, int32(lines.per), eps, reqs()
    last = lines.over(f"layer_norm_tiles_{dtype}", *given)
    return Recipe((first, last), MOMENTS * parts.parts * count)


def kept_back(lines: Lines) -> int:
    """Packs of a lane at most in the gradient, which also keeps sums for gammas and betas."""
    return min(MOST_KEPT_BACK, MOST_COLUMNS // lines.pack)


def lines_backward(job: Job, lines: Lines, dtype: str) -> Recipe:
    """Likewise; what blocks find for gammas and betas is added up by another launch."""
    pair = 2 * max(4, WIDTHS[dtype])
    count, length = lines.rows.count, lines.rows.length
    arrays = struct(*map(input_at, range(5)), output_at(0))
    each = lines.each(kept_back(lines))
    if each is not None:
        blocks = lines.blocks(NARROW_PARTS)
        args = arrays, workspace(), *lines.size, req(0)
        entry = f"layer_norm_narrow_back_{each}_{dtype}"
        threads = lines.few, 1, 1
        whole = Launch("layer_norm", entry, (blocks, 1, 1), threads, args)
        return Recipe((whole, finish(job, lines, dtype, blocks)), pair * blocks * length)
    sums = workspace(pair * lines.stacks * length)
    rest = *lines.size, int32(lines.per)
    launches = [
        lines.over(f"layer_norm_sums_{dtype}", arrays, workspace(), sums, *rest),
        finish(job, lines, dtype, lines.stacks),
    ]
    if lines.tiles > 1:
        how = split(job.limits, count, lines.tiles, count)
        given = sums, int64(lines.tiles), int64(count)
        entry = f"layer_norm_join_{dtype}"
        launches.append(Launch("layer_norm", entry, how.grid, how.block, given))
    launches.append(lines.over(f"layer_norm_slopes_{dtype}", arrays, sums, *rest, req(0)))
    return Recipe(tuple(launches), pair * (lines.stacks * length + lines.tiles * count))


def finish(job: Job, lines: Lines, dtype: str, parts: int) -> Launch:
    """The gradients of gamma and beta from the parts of blocks."""
    length = lines.rows.length
    how = split(job.limits, length, parts, SIDE)
    given = workspace(), output_at(1), output_at(2), int64(parts), int64(length), reqs()
    entry = f"layer_norm_{dtype}_finish"
    return Launch("layer_norm", entry, how.grid, how.block, given)


@recipe("LayerNorm", "InstanceNorm", "GroupNorm")
def forward(job: Job) -> Recipe | None:
    """Threads along y share a row."""
    if not one_type(job):
        return None
    shape, dtype = job.inputs[0]
    rows = rows_of(job, shape)
    if rows.length == 0:
        return of_nothing(job)
    lines = Lines.of(job, rows, dtype)
    if lines is not None and lines.fits(MOST_KEPT):
        return lines_forward(job, lines, dtype)
    how = split(job.limits, rows.count, rows.length, rows.inner)
    arrays = *map(input_at, range(3)), *map(output_at, range(3))
    args = *arrays, rows.arg(), job.number("eps"), reqs()
    entry = f"layer_norm_forward_{dtype}"
    return Recipe((Launch("layer_norm", entry, how.grid, how.block, args),))


def of_nothing(job: Job) -> Recipe:
    """Means and deviations of rows without elements."""
    launches = []
    for number, value in enumerate((0.0, sqrt(float(job.attrs["eps"]))), 1):
        shape, dtype = job.outputs[number]
        count = prod(shape)
        given = output_at(number), int64(count), float64(value), req(number)
        launches.append(job.spread("init", f"init_full_{dtype}", count, *given))
    return Recipe(tuple(launches))


@recipe("_backward_LayerNorm", "_backward_InstanceNorm", "_backward_GroupNorm")
def backward(job: Job) -> Recipe | None:
    """The gradients of gamma and beta, then of the data, in whose place may be what both read."""
    if not one_type(job):
        return None
    shape, dtype = job.inputs[1]
    rows = rows_of(job, shape)
    if rows.scales == 0:
        return Recipe(())  # all gradients are without elements
    lines = Lines.of(job, rows, dtype)
    if lines is not None and lines.fits(kept_back(lines)):
        return lines_backward(job, lines, dtype)
    side = rows.scales if rows.lengthwise and rows.inner == 1 else 1
    how = split(job.limits, rows.scales, rows.depth, side, shared=True)
    partial = workspace() if how.parts > 1 else nothing()
    results = output_at(1), output_at(2)
    given = *map(input_at, (0, 1, 3, 4)), *results, partial, rows.arg(), reqs()
    launches = [Launch("layer_norm", f"layer_norm_scales_{dtype}", how.grid, how.block, given)]
    if how.parts > 1:
        rest = partial, *results, int64(how.parts), field(rows.scales), reqs()
        entry = f"layer_norm_{dtype}_finish"
        launches.append(job.spread("layer_norm", entry, rows.scales, *rest))
    how_rows = split(job.limits, rows.count, rows.length, rows.inner)
    given = *map(input_at, range(5)), output_at(0), rows.arg(), req(0)
    entry = f"layer_norm_backward_{dtype}"
    launches.append(Launch("layer_norm", entry, how_rows.grid, how_rows.block, given))
    temporary = 2 * WIDEST * how.parts * rows.scales if how.parts > 1 else 0
    return Recipe(tuple(launches), temporary)
