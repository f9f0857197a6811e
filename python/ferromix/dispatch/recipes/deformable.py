"""Recipes of deformable convolutions: those of 1 by 1, of what moved kernels see as columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    WRITE,
    Arg,
    Job,
    Launch,
    Recipe,
    Shape,
    input_at,
    int32,
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_affine import SIZES
from ..recipe_folds import fold, words
from ..recipe_indices import groups
from .convolution import MOST, Geometry, data_split, launches, shared, weight_split
from .gemm import WIDTH

__all__: list[str] = []

NAMES = ("DeformableConvolution", "ModulatedDeformableConvolution")
TAPS = 4
"""Pixels around a point."""
TOGETHER = 8
"""Channels of a thread of the columns."""
ALIGNED = 256
"""Columns begin at a multiple of so many bytes."""


@dataclass(frozen=True)
class Moved:
    """What is convolved.

    Parameters
    ----------
    deformed
        An ``fm::Deformed``.
    product
        The convolution of columns.
    points
        How many points all images are read at, each by so many `members`.
    first
        The input of the data, after which come offsets, the mask if there is one, and weights.
    masked
        Whether there is one.
    """

    deformed: Arg
    product: Geometry
    points: int
    members: int
    first: int
    masked: bool

    @property
    def mask(self) -> Arg:
        """Where it is."""
        return input_at(self.first + 2) if self.masked else nothing()

    @property
    def weight(self) -> int:
        """The input of the weights."""
        return self.first + 2 + self.masked

    @property
    def elements(self) -> int:
        """Those of the columns."""
        return self.points * self.members

    def columns(self, job: Job, out: Arg) -> Launch:
        """What finds the columns."""
        data, offset = self.first, self.first + 1
        given = input_at(data), input_at(offset), self.mask, out, self.deformed
        entry = f"deformable_columns_{job.inputs[0][1]}"
        return job.spread("deformable", entry, self.elements // TOGETHER, *given)


def moved(job: Job, first: int, out: Shape) -> Moved | None:
    """From the data, the input `first`, to an output of this shape; None where it is too large."""
    attrs, (data, dtype) = job.attrs, job.inputs[first]
    if dtype not in FLOATS or any(t != dtype for _, t in (*job.inputs, *job.outputs)):
        return None
    ones, kernel, parts = (1, 1), attrs["kernel"], attrs["num_deformable_group"]
    places, taps, group = prod(out[2:]), prod(kernel), attrs["num_group"]
    steps = attrs["stride"] or ones, attrs["dilate"] or ones, attrs["pad"] or (0, 0)
    deformed = words(*data, *kernel, *(n for pair in steps for n in pair), *out[2:], parts)
    sizes = data[0], group, data[1] // group * taps, out[1] // group
    one = (1, 1, 1, 1, 1, 0)
    product = Geometry(*sizes, [one, one, (places, places, 1, 1, 1, 0)])
    points, members = data[0] * parts * taps * places, data[1] // parts
    weights = out[1] * product.channels
    if max(points * members, TAPS * points, prod(out), prod(data), weights) >= MOST:
        return None
    return Moved(deformed, product, points, members, first, "Modulated" in job.name)


def aligned(size: int) -> int:
    """At least so many bytes."""
    return -(-size // ALIGNED) * ALIGNED


@recipe(*(f"_contrib_{name}" for name in NAMES))
def forward(job: Job) -> Recipe | None:
    """Columns, and their products with the weights."""
    (out, dtype), bias = job.outputs[0], nothing()
    m = moved(job, 0, out)
    if m is None:
        return None
    if not job.attrs["no_bias"]:
        bias = input_at(m.weight + 1)
    g = m.product
    how = shared(job, g.filters, g.positions, g.channels, g.groups)
    room = aligned(how.parts * prod(out) * WIDTH[dtype])
    columns = workspace(room)
    args = columns, input_at(m.weight), bias
    made, _ = launches(job, g, "", how, prod(out), args, 0)
    return Recipe((m.columns(job, columns), *made), room + m.elements * SIZES[dtype])


@recipe(*(f"_backward__contrib_{name}" for name in NAMES))
def backward(job: Job) -> Recipe | None:
    """The gradient of the weights from the columns, all others from the gradient of these."""
    (grad, dtype), no_bias = job.inputs[0], job.attrs["no_bias"]
    m = moved(job, 1, grad)
    if m is None:
        return None
    g, last = m.product, m.weight
    shape, entry = (*grad[:2], prod(grad[2:])), f"reduce_sum_{dtype}"
    bias = None if no_bias else fold(job, "reduce", entry, shape, [True, False, True], number=last)
    pixels = pixels_of(job, m)
    if pixels is None or (bias is None and not no_bias):
        return None
    ways = weight_split(job, g), data_split(job, g)
    sizes = grad[1] * g.channels, m.elements
    sums = [how.parts * size * WIDTH[dtype] for how, size in zip(ways, sizes, strict=True)]
    room = aligned(max(pixels.temporary, bias.temporary if bias else 0, *sums))
    columns = workspace(room)
    factors = input_at(0), columns, nothing()
    weights, _ = launches(job, g, "weight_", ways[0], sizes[0], factors, last - 1)
    factors, to = (input_at(0), input_at(last), nothing()), (columns, WRITE)
    back, _ = launches(job, g, "data_", ways[1], sizes[1], factors, last - 1, to)
    made = (m.columns(job, columns), *weights, *back, points(job, m, columns), *pixels.launches)
    made = (*made, pixels.sums(job, m, columns), *(bias.launches if bias else ()))
    return Recipe(made, room + m.elements * SIZES[dtype])


def points(job: Job, m: Moved, columns: Arg) -> Launch:
    """The gradients of offsets and masks, from that of the columns."""
    mask, request = (output_at(2), req(2)) if m.masked else (nothing(), int32(0))
    given = columns, input_at(1), input_at(2), m.mask, output_at(1), mask, m.deformed, req(1)
    entry = f"deformable_points_{job.inputs[0][1]}"
    return job.spread("deformable", entry, m.points, *given, request)


@dataclass(frozen=True)
class Pixels:
    """Launches that group the pixels of points, what they find, and their temporary memory."""

    launches: tuple[Launch, ...]
    groups: Arg
    weights: Arg
    temporary: int

    def sums(self, job: Job, m: Moved, columns: Arg) -> Launch:
        """What comes to each pixel, from the gradient of the columns."""
        shape, dtype = job.inputs[m.first]
        given = columns, self.groups, self.weights, m.mask, output_at(0), m.deformed, req(0)
        return job.spread("deformable", f"deformable_pixels_{dtype}", prod(shape), *given)


def pixels_of(job: Job, m: Moved) -> Pixels | None:
    """Each point has so many `TAPS`; None where they are too many."""
    data, dtype = job.inputs[m.first]
    count = data[0] * job.attrs["num_deformable_group"] * prod(data[2:])
    met = groups(job, TAPS * m.points, count)
    if met is None:
        return None
    weights = workspace(met.temporary)
    given = input_at(m.first + 1), m.mask, workspace(), weights, m.deformed, req(0)
    find = job.spread("deformable", f"deformable_taps_{dtype}", m.points, *given)
    temporary = met.temporary + TAPS * m.points * WIDTH[dtype]
    return Pixels((find, *met.launches), met.arg, weights, temporary)
