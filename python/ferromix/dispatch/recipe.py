"""How an operator runs on a GPU: the launches that a kernel row takes for given shapes and types.

A recipe is made once for each combination of card, shapes, types and mode. It names entry points of
the CUDA sources, grids, and what each kernel argument is; addresses, strides, requests and the
numbers of a run are filled in by the core when it launches. How many threads run follows from the
kind of a kernel, never from a card.
"""

from __future__ import annotations

import struct as packing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ops.card import OperatorProperty, Shape

__all__ = [
    "ADD",
    "WRITE",
    "Arg",
    "Convolved",
    "Desc",
    "Job",
    "Launch",
    "Limits",
    "Product",
    "Recipe",
    "Shape",
    "Step",
    "behind",
    "draws",
    "field",
    "find",
    "float32",
    "float64",
    "input_at",
    "int32",
    "int64",
    "nothing",
    "output_at",
    "recipe",
    "refusal",
    "req",
    "rows",
    "struct",
    "walk",
    "workspace",
]

Desc = tuple[Shape, str]
"""Shape and name of the element type of one array."""
Arg = tuple[str, Any]
"""What one argument of a kernel is, as the functions below make it."""


def input_at(index: int) -> Arg:
    """The address of an input."""
    return "input", index


def output_at(index: int) -> Arg:
    """The address of an output; null where the request is null."""
    return "output", index


def nothing() -> Arg:
    """A null pointer."""
    return int64(0)


def workspace(offset: int = 0) -> Arg:
    """An address in temporary memory, some bytes from its start."""
    return "workspace", offset


def behind(arg: Arg, count: int) -> Arg:
    """The address so many bytes behind another; null where that is null."""
    return ("behind", (arg, count)) if count else arg


def int32(value: int) -> Arg:
    """A number that the shapes, or the attributes, tell."""
    return "bytes", packing.pack("=i", value)


WRITE, ADD = int32(1), int32(3)
"""Requests for what is no output, or not by its own."""


def int64(value: int) -> Arg:
    """As :func:`int32`."""
    return "bytes", packing.pack("=q", value)


def float32(value: float) -> Arg:
    """As :func:`int32`."""
    return "bytes", packing.pack("=f", value)


def float64(value: float) -> Arg:
    """As :func:`int32`."""
    return "bytes", packing.pack("=d", value)


def req(index: int) -> Arg:
    """The request for an output, an ``int``."""
    return "req", index


def refusal() -> Arg:
    """Where kernels write what they refuse, an ``fm::Refusal *``; see :attr:`Recipe.refusals`."""
    return "refusal", None


def draws() -> Arg:
    """The random numbers of the run, an ``fm::Stream``."""
    return "draws", None


def walk(*operands: Arg) -> Arg:
    """How operands lie in memory, an ``fm::Walk``: the output first, then what broadcasts to it."""
    return "walk", list(operands)


def struct(*parts: Arg) -> Arg:
    """One argument that holds several things, each aligned to its own size."""
    return "struct", list(parts)


def field(value: int | float) -> Arg:
    """A number of eight bytes."""
    return float64(value) if isinstance(value, float) else int64(value)


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: the source's stem, the entry point, and how many threads.

    With `text`, the kernel is in that text, and `stem` only says what it is.
    """

    stem: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Arg, ...]
    text: str = ""


@dataclass(frozen=True)
class Product:
    """Products of a batch of pairs of matrices without gaps, by the vendor's library.

    Parameters
    ----------
    factors
        Where the first ones start.
    flips
        Whether memory holds the columns of a factor one after another, not its rows.
    out
        Where the first one goes.
    number
        The output whose request counts; where there is none, products are written.
    dtype
        The type of all three.
    batch
        How many pairs.
    extents
        Rows and columns of a product, and how many terms an element sums.
    adds
        Whether they are added to what is there, whatever the request.
    workspace
        Bytes at the start of the temporary memory that the library may use.
    shared
        Whether a factor is the same in all pairs.
    """

    factors: tuple[Arg, Arg]
    flips: tuple[bool, bool]
    out: Arg
    number: int | None
    dtype: str
    batch: int
    extents: tuple[int, int, int]
    adds: bool
    workspace: int
    shared: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Convolved:
    """A convolution of arrays without gaps, or a gradient of one, by the vendor's library.

    Parameters
    ----------
    plan
        How: a ``_core.GpuConvolution``.
    operands
        Data and weights; for a gradient that of the output, and weights or data.
    out
        Where the result goes.
    number
        The output whose request counts.
    adds
        Whether it is added to what is there, whatever the request.
    """

    plan: Any
    operands: tuple[Arg, Arg]
    out: Arg
    number: int
    adds: bool


Step = Launch | Product | Convolved
"""What a recipe has a stream do."""


@dataclass(frozen=True)
class Recipe:
    """The launches of an operator, in order on one stream.

    Parameters
    ----------
    launches
        None where there is nothing to compute.
    temporary
        Bytes of temporary memory that they share.
    strided
        Whether every kernel follows strides, by walks; otherwise arrays come without gaps.
    refusals
        What kernels may refuse, by the codes that they give: the kind of error, `index` or `value`,
        and a sentence, in which ``{}`` stands for the value.
    """

    launches: tuple[Step, ...]
    temporary: int = 0
    strided: bool = False
    refusals: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Limits:
    """What a device runs at once; a host that stands in for one says little."""

    processors: int
    threads: int = 256
    """Threads of a block that has no reason for another number; a multiple of 32."""
    has_blas: bool = False
    """Whether there is a library for products of matrices."""
    tf32: bool = False
    """Whether float32 is multiplied by tensor cores, which round it to tf32."""
    plan_convolution: Callable[..., Any] | None = None
    """As ``_core.gpu_plan_convolution`` for the device, or None."""


@dataclass(frozen=True)
class Job:
    """What is to run: a kernel row with its attributes, shapes and types.

    `outputs` are those of the card, then the inputs that it changes.
    """

    card: OperatorProperty
    name: str
    attrs: Mapping[str, Any]
    inputs: Sequence[Desc]
    outputs: Sequence[Desc]
    is_train: bool
    dynamic: Sequence[str]
    limits: Limits

    def number(self, name: str) -> Arg:
        """A real attribute, a ``double``; that of the run where it may differ from run to run."""
        if name in self.dynamic:
            return "dynamic", self.dynamic.index(name)
        return float64(float(self.attrs[name]))

    def blocks(self, count: int, each: int) -> int:
        """How many blocks share `count` things, of which one block takes `each` at a time.

        Kernels go on to further things in steps of the grid: the device is full, and no more.
        """
        return max(1, min(-(-count // each), 32 * self.limits.processors))

    def spread(self, stem: str, entry: str, count: int, *args: Arg) -> Launch:
        """A launch with a thread for each of `count` things, or fewer that go on to more."""
        threads = self.limits.threads
        return Launch(stem, entry, (self.blocks(count, threads), 1, 1), (threads, 1, 1), args)


Make = Callable[[Job], Recipe | None]
_MAKERS: dict[str, Make] = {}


def recipe(*names: str) -> Callable[[Make], Make]:
    """Registers what makes the recipes of some kernel rows; it may give None, and the CPU runs."""

    def decorate(make: Make) -> Make:
        for name in names:
            if name in _MAKERS:
                raise ValueError(f"two recipes for the kernel '{name}'")
            _MAKERS[name] = make
        return make

    return decorate


def find(name: str) -> Make | None:
    """What makes the recipes of a kernel row, if the CUDA sources have it."""
    return _MAKERS.get(name)


def rows() -> list[str]:
    """The kernel rows that have recipes, sorted."""
    return sorted(_MAKERS)
