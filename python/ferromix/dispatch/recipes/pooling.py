"""Recipes of pooling and its gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ops.card import Shape
from ...ops.family import FLOATS
from ..recipe import Arg, Job, Launch, Recipe, input_at, output_at, recipe, req, workspace
from ..recipe_folds import words

__all__: list[str] = []

KINDS = {"max": "max", "avg": "avg", "sum": "sum"}
POWERS = {1: "sum", 2: "squares", 3: "cubes"}
FLAT = ("max", "avg", "sum")
"""What kernels of windows along two axes compute."""
PACK = {"float32": 4, "float64": 2, "float16": 8, "bfloat16": 8}
"""Elements of 16 bytes."""
LEAST, LANES = 4, (4, 32)
"""Packs that a thread sums at least, where it can, and how many threads of a warp share a plane."""
MOST, WIDEST = 2**31, 15
"""What numbers of elements stay below, and rows and columns of windows whose maxima are found."""

Axis = tuple[int, int, int, int, int]
"""Elements, windows, and those windows' kernel, stride and padding."""


@dataclass(frozen=True)
class Pool:
    """How windows lie in arrays of (outer, three spatial axes, inner)."""

    outer: int
    inner: int
    axes: list[Axis]
    with_pad: bool

    def arg(self) -> Arg:
        """An ``fm::Pool``."""
        numbers = (n for axis in self.axes for n in axis)
        return words(self.outer, self.inner, *numbers, int(self.with_pad))

    @property
    def plane(self) -> int:
        """Elements of one."""
        return prod(axis[0] for axis in self.axes)

    def is_whole(self) -> bool:
        """Whether planes have a window each, which covers it."""
        one = all(o == 1 and k - p >= n and p >= 0 for n, o, k, _, p in self.axes)
        return one and self.inner == 1 and self.plane < MOST

    def is_flat(self) -> bool:
        """Whether kernels of windows along two axes take them."""
        (n, o, k, s, p), *sides = self.axes
        elements = self.outer * max(self.plane, prod(axis[1] for axis in sides))
        short = max(elements, *(max(n, o * s + k) + p + WIDEST for n, o, k, s, p in sides)) < MOST
        return (n, o, k, s, p) == (1, 1, 1, 1, 0) and self.inner == 1 and short

    def flat(self, dtype: str) -> Arg:
        """An ``fm::Flat``."""
        sides: list[int] = []
        for axis in self.axes[1:]:
            n, o, _, stride, _ = axis
            divisors = stride, o, n, max(1, n // PACK[dtype])
            sides += [*axis, *(part for d in divisors for part in quick(max(1, d)))]
        return words(self.outer, int(self.with_pad), *sides)


def quick(divisor: int) -> tuple[int, int]:
    """A factor and a shift that divide any number below 2^31 (Granlund and Montgomery, 1994)."""
    shift = 31 + (divisor - 1).bit_length()
    return (1 << shift) // divisor + 1, shift


@recipe("Pooling")
def pooling(job: Job) -> Recipe | None:
    """Threads share a window that is a plane; otherwise each has a window."""
    (data, dtype), kind = job.inputs[0], kind_of(job)
    pool = pool_of(job, data, job.outputs[0][0])
    if not fits(job):
        return None
    if pool.is_whole():
        return Recipe((whole(job, pool, kind),))
    if pool.is_flat() and kind in FLAT:
        given = input_at(0), output_at(0), pool.flat(dtype), req(0)
        entry = f"pooling_flat_{kind}_{dtype}"
        return Recipe((job.spread("pooling", entry, prod(job.outputs[0][0]), *given),))
    return pooled(job, kind, pool)


@recipe("_backward_Pooling")
def gradient(job: Job) -> Recipe | None:
    """A thread for each element, or pack, where maxima were found; or threads share a plane."""
    (data, dtype), (windows, _), kind = job.inputs[1], job.inputs[2], kind_of(job)
    pool = pool_of(job, data, windows)
    if not fits(job):
        return None
    if pool.is_whole() and kind in ("avg", "sum"):
        return Recipe((whole(job, pool, f"{kind}_backward"),))
    if kind == "max" and pool.is_flat() and max(axis[2] for axis in pool.axes) <= WIDEST:
        flat, count = pool.flat(dtype), prod(windows)
        given = input_at(1), workspace(), flat, req(0)
        find = job.spread("pooling", f"pooling_places_{dtype}", count, *given)
        each = 1 if pool.axes[-1][0] % PACK[dtype] else PACK[dtype]
        given = input_at(0), workspace(), output_at(0), flat, req(0)
        place = job.spread("pooling", f"pooling_placed_{dtype}", prod(data) // each, *given)
        return Recipe((find, place), temporary=count)
    return pooled(job, f"{kind}_backward", pool)


@recipe("_backward_backward_Pooling")
def pick(job: Job) -> Recipe | None:
    """A thread for each window."""
    pool = pool_of(job, job.inputs[1][0], job.inputs[2][0])
    return pooled(job, "pick", pool) if fits(job) else None


def kind_of(job: Job) -> str:
    """What becomes of a window."""
    kind = job.attrs["pool_type"]
    return POWERS[job.attrs["p_value"]] if kind == "lp" else KINDS[kind]


def fits(job: Job) -> bool:
    """Whether the sources have all types."""
    dtype = job.outputs[0][1]
    return dtype in FLOATS and all(t == dtype for _, t in job.inputs)


def pooled(job: Job, word: str, pool: Pool) -> Recipe:
    """One launch, for any windows."""
    shape, dtype = job.outputs[0]
    inputs = [input_at(i) for i in range(len(job.inputs))]
    rest = output_at(0), pool.arg(), req(0)
    entry = f"pooling_{word}_{dtype}"
    return Recipe((job.spread("pooling", entry, prod(shape), *inputs, *rest),))


def whole(job: Job, pool: Pool, word: str) -> Launch:
    """Threads that share planes: parts of warps, or, where planes are few and large, blocks."""
    dtype, threads = job.outputs[0][1], job.limits.threads
    packs = pool.plane // PACK[dtype]
    lanes = min(max((1 << (packs // LEAST).bit_length()) >> 1, LANES[0]), LANES[1])
    few = pool.outer * lanes < job.limits.processors * threads
    if few and packs >= LEAST * threads:
        lanes = threads
    grid, block = (job.blocks(pool.outer, threads // lanes), 1, 1), (lanes, threads // lanes, 1)
    inputs = [input_at(i) for i in range(len(job.inputs))]
    given = *inputs, output_at(0), pool.arg(), req(0)
    return Launch("pooling", f"pooling_whole_{word}_{dtype}", grid, block, given)


def pool_of(job: Job, data: Shape, windows: Shape) -> Pool:
    """The geometry of the job."""
    last = (job.attrs.get("layout") or "").endswith("C")
    count = len(data) - 2
    axes = slice(1, -1) if last else slice(2, None)
    outer, inner = (data[0], data[-1]) if last else (data[0] * data[1], 1)
    if job.attrs["global_pool"]:
        kernel, stride, pad = data[axes], (1,) * count, (0,) * count
    else:
        kernel = job.attrs["kernel"]
        stride = job.attrs.get("stride") or (1,) * count
        pad = job.attrs.get("pad") or (0,) * count
    rows: list[Axis] = [(1, 1, 1, 1, 0)] * (3 - count)
    rows += zip(data[axes], windows[axes], kernel, stride, pad, strict=True)
    given = job.attrs.get("count_include_pad")
    return Pool(outer, inner, rows, given is None or bool(given))
