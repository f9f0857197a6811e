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

__all__: list[str] = []


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


@recipe("LayerNorm", "InstanceNorm", "GroupNorm")
def forward(job: Job) -> Recipe | None:
    """Threads along y share a row."""
    if not one_type(job):
        return None
    shape, dtype = job.inputs[0]
    rows = rows_of(job, shape)
    if rows.length == 0:
        return of_nothing(job)
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
