"""Recipes of convolution and its gradients."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..recipe import (
    Arg,
    Convolved,
    Job,
    Launch,
    Product,
    Recipe,
    Shape,
    Step,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_folds import fold, packed_walk, strides_of
from .dot import library_room
from .gemm import WIDTH, Split, split

__all__ = [
    "MOST",
    "Geometry",
    "data_gradient",
    "data_split",
    "extents",
    "forward_of",
    "geometry",
    "launches",
    "shared",
    "weight_gradient",
    "weight_split",
    "with_bias",
]

FEW = 4
"""Channels of a group whose results take a thread for each element."""
FEW_WEIGHTS = 64
"""Weights of a group that take a block each."""
ROOM, ANY_ROOM = 1024, 2**62
"""MiB that a library may use, where attributes do not say; and bytes where anything goes."""
MOST = 2**31 - 1
MOST_GROUPS = 65535
"""Blocks along the last axis of a grid."""
THREADS = 256


def tuning() -> str:
    """How the vendor's library picks an algorithm: as an attribute says it, by MXNet's variable.

    Times differ from process to process, and so do the bits of results, so that guessing is what
    happens where nobody asks for more.
    """
    ways = {"1": "limited_workspace", "2": "fastest"}
    return ways.get(os.environ.get("MXNET_CUDNN_AUTOTUNE_DEFAULT", "0"), "off")


@dataclass(frozen=True)
class Geometry:
    """Extents of a convolution, of one group where they concern channels."""

    batch: int
    groups: int
    channels: int
    filters: int
    axes: list[tuple[int, int, int, int, int, int]]
    """Input, output, kernel, stride, dilation and padding of three axes, of which one stands for
    several that need no more."""
    given: Sequence[tuple[int, int, int, int, int, int]] = ()
    """The same of the axes that there are."""

    def of(self, which: int) -> list[int]:
        """One of these for all axes."""
        return [axis[which] for axis in self.axes]

    @property
    def positions(self) -> int:
        """Elements of a channel of the output."""
        return self.batch * prod(self.of(1))

    @property
    def taps(self) -> int:
        """Elements of the kernel."""
        return prod(self.of(2))

    def planned(self, job: Job, way: str) -> Any:
        """How the vendor's library does it; None where that is not for it.

        Groups of few channels are for our own kernels.
        """
        plan = None if job.attrs.get("cudnn_off") else job.limits.plan_convolution
        if plan is None or (self.groups > 1 and self.least <= FEW):
            return None
        flat = [(1, 1, 1, 1, 1, 0)] * (2 - len(self.given))
        inputs, outputs, kernel, *steps = map(list, zip(*flat, *self.given, strict=True))
        filters = self.groups * self.filters
        shapes = (
            [self.batch, self.groups * self.channels, *inputs],
            [filters, self.channels, *kernel],
            [self.batch, filters, *outputs],
        )
        tune, of = job.attrs.get("cudnn_tune") or tuning(), job.inputs[0][1]
        room = min(ANY_ROOM, (job.attrs.get("workspace") or ROOM) << 20)
        room = ANY_ROOM if tune == "fastest" else room
        return plan(way, of, shapes, steps, self.groups, tune != "off", room)

    @property
    def pointwise(self) -> bool:
        """Whether an element of the output is of one position."""
        return self.groups == 1 and all((*a[2:4], a[5]) == (1, 1, 0) for a in self.axes)

    @property
    def least(self) -> int:
        """Channels of a group, or filters, whichever are fewer."""
        return min(self.channels, self.filters)

    def packed(self) -> Arg:
        """As an ``fm::Shape``."""
        sizes = self.batch, self.groups, self.channels, self.filters
        return struct(*map(int64, (*sizes, *(n for axis in self.axes for n in axis))))


def geometry(job: Job, shape: Shape, out: Shape, pads: Shape | None = None) -> Geometry | None:
    """That of the convolution from data of a shape to an output of another.

    None where types differ, and where numbers of elements are too large for the kernels.
    """
    dtype = job.inputs[0][1]
    if dtype not in WIDTH or any(t != dtype for _, t in (*job.inputs, *job.outputs)):
        return None
    return extents(job, shape, out, pads)


def extents(job: Job, shape: Shape, out: Shape, pads: Shape | None = None) -> Geometry | None:
    """The same, of any types."""
    attrs = job.attrs
    rank, groups = len(shape) - 2, attrs["num_group"]
    fills = {"kernel": 1, "stride": 1, "dilate": 1, "pad": 0}
    named = [attrs[name] or (fill,) * rank for name, fill in fills.items()]
    named[-1] = named[-1] if pads is None else pads
    axes = given = list(zip(shape[2:], out[2:], *named, strict=True))
    if all(axis[2:4] == (1, 1) and axis[5] == 0 for axis in axes):
        axes, rank = [(prod(shape[2:]), prod(out[2:]), 1, 1, 1, 0)], 1
    axes = [(1, 1, 1, 1, 1, 0)] * (3 - rank) + axes
    found = Geometry(shape[0], groups, shape[1] // groups, out[1] // groups, axes, given)
    weights = groups * found.filters * found.channels * found.taps
    # A position or a tap outside of the data must have a number, too.
    reach = max(a[0] + a[2] * a[4] + 2 * a[5] + a[3] for a in axes)
    large = max(prod(shape), prod(out), weights, found.positions, reach)
    return found if large < MOST else None


def launches(
    job: Job,
    g: Geometry,
    name: str,
    how: Split,
    elements: int,
    args: tuple[Arg, ...],
    out: int,
    target: tuple[Arg, Arg] | None = None,
) -> tuple[list[Step], int]:
    """Launches of ``args`` (two operands and the bias), and bytes of their temporary memory.

    To the output `out`, or to the address of `target` by the request there.
    """
    to, request = target or (output_at(out), req(out))
    dtype = job.inputs[0][1]
    phases = prod(g.of(3)) if name == "data_" else 1
    if elements == 0:
        return [], 0
    grid = how.tiles, how.parts, min(g.groups * phases, MOST_GROUPS)
    block = (1, how.threads, 1) if (name, how.size) == ("weight_", "few") else (how.threads, 1, 1)
    rest = to, workspace(), int64(elements), g.packed(), request
    entry = f"convolution_{name}{how.size}_{dtype}"
    made: list[Step] = [Launch("convolution", entry, grid, block, (*args, *rest))]
    if how.parts == 1:
        return made, 0
    filters = job.outputs[out][0][1]
    plane = prod(job.outputs[out][0][2:])
    sizes = map(int64, (how.parts, elements, plane, filters))
    last = workspace(), args[2], to, *sizes, request
    finish = f"convolution_{dtype}_finish"
    made.append(job.spread("convolution", finish, elements, *last))
    return made, how.parts * elements * WIDTH[dtype]


def by_library(
    job: Job, g: Geometry, way: str, args: tuple[Arg, ...], out: int
) -> tuple[list[Step], int] | None:
    """The same by one of the vendor's libraries, if it does."""
    made = biased(job, args[2], out)
    plan = g.planned(job, way) if prod(job.outputs[out][0]) else None
    if plan is not None:
        step = Convolved(plan, (args[0], args[1]), output_at(out), out, bool(made))
        return [*made, step], plan.workspace
    step = as_product(job, g, way, args, out, bool(made))
    return None if step is None else ([*made, step], step.workspace)


def biased(job: Job, bias: Arg, out: int) -> list[Step]:
    """What puts a bias, if there is one, where a library adds the rest."""
    if bias == nothing():
        return []
    shape, dtype = job.outputs[out]
    planes = shape[0], shape[1], prod(shape[2:])
    layout = packed_walk(planes, strides_of(planes), [0, 1, 0])
    assert layout is not None, "three axes are not too many"
    rows = bias, output_at(out), layout, req(out)
    return [job.spread("elemwise", f"elemwise_copy_{dtype}", prod(shape), *rows)]


def as_product(
    job: Job, g: Geometry, way: str, args: tuple[Arg, ...], out: int, adds: bool
) -> Product | None:
    """A kernel of one element as a product of matrices for each image, with the same weights."""
    if not (job.limits.has_blas and g.pointwise and prod(job.outputs[out][0])):
        return None
    if way == "weight_":
        return None  # whose products are summed over the images
    plane, dtype = g.positions // g.batch, job.inputs[0][1]
    m, depth = (g.channels, g.filters) if way else (g.filters, g.channels)
    room = library_room(g.batch * m * plane, dtype)
    flips, extents = (way == "data_", False), (m, plane, depth)
    factors, both = (args[1], args[0]), (True, False)
    given = factors, flips, output_at(out), out, dtype, g.batch, extents, adds, room, both
    return Product(*given)


def shared(job: Job, rows: int, columns: int, depth: int, count: int) -> Split:
    """As :func:`split`, but a thread for each element where rows are few."""
    if rows <= FEW:
        return Split("few", THREADS, job.blocks(rows * columns, THREADS), 1)
    return split(job.limits, job.inputs[0][1], rows, columns, depth, count)


@recipe("Convolution")
def forward(job: Job) -> Recipe | None:
    """One product for each group."""
    out = job.outputs[0][0]
    g = geometry(job, job.inputs[0][0], out)
    if g is None:
        return None
    made, temporary = forward_of(job, g, 1, None if job.attrs["no_bias"] else input_at(2))
    return Recipe(tuple(made), temporary)


def forward_of(
    job: Job, g: Geometry, weight: int, bias: Arg | None = None
) -> tuple[list[Step], int]:
    """The convolution of the first input, to the first output."""
    how = shared(job, g.filters, g.positions, g.channels * g.taps, g.groups)
    args = input_at(0), input_at(weight), bias or nothing()
    found = by_library(job, g, "", args, 0)
    return found or launches(job, g, "", how, prod(job.outputs[0][0]), args, 0)


def data_gradient(
    job: Job, g: Geometry, weight: int, bias: Arg | None = None
) -> tuple[list[Step], int]:
    """A product for each group and each phase of the strides.

    From the first input to the first output.
    """
    args = input_at(0), input_at(weight), bias or nothing()
    found = by_library(job, g, "data_", args, 0)
    return found or launches(job, g, "data_", data_split(job, g), prod(job.outputs[0][0]), args, 0)


def data_split(job: Job, g: Geometry) -> Split:
    """How blocks share the gradient of the data."""
    strides = g.of(3)
    most = g.batch * prod(-(-a // s) for a, s in zip(g.of(0), strides, strict=True))
    depth = g.filters * prod(-(-k // s) for k, s in zip(g.of(2), strides, strict=True))
    return shared(job, g.channels, most, depth, g.groups * prod(strides))


def weight_gradient(job: Job, g: Geometry, grad: int, data: int) -> tuple[list[Step], int]:
    """A product for each group, over all positions, from two inputs to the second output."""
    args = input_at(grad), input_at(data), nothing()
    found = by_library(job, g, "weight_", args, 1)
    return found or launches(
        job, g, "weight_", weight_split(job, g), prod(job.outputs[1][0]), args, 1
    )


def weight_split(job: Job, g: Geometry) -> Split:
    """How blocks share the gradient of the weights."""
    rows, columns = g.filters, g.channels * g.taps
    if rows * columns <= FEW_WEIGHTS:
        return Split("few", THREADS, rows * columns, 1)
    return split(job.limits, job.inputs[0][1], rows, columns, g.positions, g.groups)


@recipe("_backward_Convolution")
def backward(job: Job) -> Recipe | None:
    """The gradients of data, weight and bias, in the same temporary memory."""
    grad = job.inputs[0][0]
    g = geometry(job, job.inputs[1][0], grad)
    if g is None:
        return None
    return with_bias(job, [data_gradient(job, g, 2), weight_gradient(job, g, 0, 1)])


def with_bias(job: Job, parts: list[tuple[list[Step], int]]) -> Recipe | None:
    """Launches, and those of the gradient of the bias, if there is one."""
    grad = job.inputs[0][0]
    made = [one for launches, _ in parts for one in launches]
    temporary = max(bytes for _, bytes in parts)
    if job.attrs["no_bias"]:
        return Recipe(tuple(made), temporary)
    shape = grad[0], grad[1], prod(grad[2:])
    entry = f"reduce_sum_{job.inputs[0][1]}"
    sums = fold(job, "reduce", entry, shape, [True, False, True], number=2)
    return sums and Recipe((*made, *sums.launches), max(temporary, sums.temporary))
