"""Recipes of factors of matrices, of their determinants and inverses."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int32,
    nothing,
    output_at,
    recipe,
    refusal,
    req,
)
from ..recipe_folds import words
from .dot import Matrices, products
from .linalg_triangles import real
from .matrices import LOWER, NONE, SIDE, UPPER, Steps, part, rows_of

__all__ = ["LEAST", "MOST", "multiplied", "together"]

STEM = "linalg_factors"
LEAST, MOST = 32, 512
"""Threads of a block that has a matrix; they are a power of two."""


def panels(steps: Steps, word: str, extent: int, *args: Arg) -> None:
    """A block for each matrix, whose threads lie along y and share lines of that extent."""
    threads = min(MOST, max(LEAST, 1 << (extent - 1).bit_length()))
    grid = steps.job.blocks(steps.count, 1), 1, 1
    steps.launches.append(Launch(STEM, f"{STEM}_{word}_{steps.dtype}", grid, (1, threads, 1), args))


@recipe("_linalg_potrf")
def definite(job: Job) -> Recipe | None:
    """Some rows at a time of the upper factor, which is that of the transposed lower triangle."""
    dtype = real(job)
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    steps = Steps(job, dtype, prod(lead))
    a, given, to = steps.matrices(n, n), *(rows_of(at, n, n) for at in (input_at(0), output_at(0)))
    lower = job.attrs["lower"]
    steps.move((n, n), given.flipped() if lower else given, a)
    for k in range(0, n, SIDE):
        width = min(SIDE, n - k)
        end, panel = k + width, words(steps.count, n, n, k, width)
        panels(steps, "definite", width * width, a.at, panel, refusal())
        if rest := n - end:
            right = part(a, k, end)
            steps.solve((width, rest), part(a, k, k).flipped(), right, lower=True)
            steps.add((rest, rest, width), right.flipped(), right, part(a, end, end))
    kept = LOWER if lower else UPPER
    steps.move((n, n), a.flipped() if lower else a, to, kept=kept, request=req(0))
    text = "has a matrix that is not positive definite: the pivot of row {} is not positive"
    return refusing(steps, text)


def refusing(steps: Steps, text: str) -> Recipe:
    """With what is refused of the argument."""
    refusals = (("value", f"{steps.job.name}: argument 'A' {text}"),)
    return Recipe(tuple(steps.launches), steps.room.bytes, refusals=refusals)


@recipe("_linalg_potri")
def inverse_of_factor(job: Job) -> Recipe | None:
    """The product of the factor's inverse with itself."""
    dtype = real(job)
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    steps = Steps(job, dtype, prod(lead))
    given, to = (rows_of(at, n, n) for at in (input_at(0), output_at(0)))
    panel = words(steps.count, n, n, 0, n)
    steps.spread(STEM, "diagonal", steps.count * n, given.at, panel, refusal())
    unknowns = steps.matrices(n, n)
    steps.move((n, n), unknowns, unknowns, kept=NONE)
    steps.solve((n, n), given if job.attrs["lower"] else given.flipped(), unknowns, lower=True)
    sizes = steps.count, n, n, n
    steps.launches += products(steps.job, 0, sizes, unknowns.flipped(), unknowns, to)
    text = "has a triangle that has no inverse: element {} of its diagonal is zero"
    return refusing(steps, text)


@dataclass(frozen=True)
class Triangles:
    """A lower triangle of unit diagonal and an upper one in place of matrices of side `n`.

    With which row each was exchanged, and whether a pivot is zero, are memory of their own.
    """

    n: int
    at: Matrices
    swaps: Arg
    singular: Arg


def triangles(steps: Steps, n: int, told: Arg) -> Triangles:
    """Factors of the first input, some columns at a time; singular matrices are `told`."""
    a = steps.matrices(n, n)
    swaps, singular = (steps.room.take(steps.count * k, 4) for k in (n, 1))
    steps.move((n, n), rows_of(input_at(0), n, n), a)
    for k in range(0, n, SIDE):
        width = min(SIDE, n - k)
        end, panel = k + width, words(steps.count, n, n, k, width)
        panels(steps, "panel", n - k, a.at, swaps, singular, panel, told)
        if n > width:
            steps.spread(STEM, "swap", steps.count * (n - width), a.at, swaps, panel)
        if rest := n - end:
            right = part(a, k, end)
            steps.solve((width, rest), part(a, k, k), right, lower=True, unit=True)
            steps.add((rest, rest, width), part(a, end, k), right, part(a, end, end))
    return Triangles(n, a, swaps, singular)


@recipe("_linalg_det", "_linalg_slogdet")
def determinant(job: Job) -> Recipe | None:
    """Products of the diagonals."""
    dtype = real(job)
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    steps = Steps(job, dtype, prod(lead))
    found = triangles(steps, n, nothing())
    none = nothing(), int32(0)
    (sign, sign_req), (log, log_req) = ((output_at(k), req(k)) for k in (0, 1))
    ends = (sign, log, none[0]), (sign_req, log_req, none[1])
    if job.name == "_linalg_det":
        ends = (none[0], none[0], sign), (none[1], none[1], sign_req)
    args = found.at.at, found.swaps, *ends[0], words(steps.count, n, n, 0, n), *ends[1]
    steps.spread(STEM, "determinant", steps.count, *args)
    return Recipe(tuple(steps.launches), steps.room.bytes)


@recipe("_linalg_inverse", "_linalg_inverse_or_zero")
def inverse(job: Job) -> Recipe | None:
    """The equations that the columns of the inverse are."""
    dtype = real(job)
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    if prod(lead) * n == 0:
        return Recipe(())
    steps = Steps(job, dtype, prod(lead))
    told = refusal() if job.name == "_linalg_inverse" else nothing()
    found, unknowns = triangles(steps, n, told), steps.matrices(n, n)
    places, panel = steps.room.take(steps.count * n, 4), words(steps.count, n, n, 0, n)
    args = found.swaps, places, unknowns.at, panel
    grid, block = (job.blocks(steps.count, 1), 1, 1), (job.limits.threads, 1, 1)
    steps.launches.append(Launch(STEM, f"{STEM}_permutation_{dtype}", grid, block, args))
    steps.solve((n, n), found.at, unknowns, lower=True, unit=True)
    steps.solve((n, n), found.at, unknowns, lower=False)
    to, singular = rows_of(output_at(0), n, n), found.singular
    steps.move((n, n), unknowns, to, request=req(0), singular=singular)
    if job.name == "_linalg_inverse_or_zero":
        return Recipe(tuple(steps.launches), steps.room.bytes)
    return refusing(steps, "has a matrix that has no inverse")


@dataclass(frozen=True)
class Reflectors:
    """`width` reflectors of rows, and the triangle T: their product is ``I - V^T T V``."""

    first: int
    width: int
    v: Matrices
    t: Matrices


def reflected(
    steps: Steps,
    by: Reflectors,
    x: Matrices,
    sizes: tuple[int, int],
    spare: tuple[Matrices, Matrices],
    back: bool = False,
) -> None:
    """Multiplies rows, which begin where the reflectors do, by their product or its transpose.

    `spare` have a number for each row and reflector.
    """
    rows, columns = sizes
    dots, weights = (Matrices(m.at, by.width, 1, rows * by.width) for m in spare)
    steps.set((rows, by.width, columns), x, by.v.flipped(), dots)
    steps.set((rows, by.width, by.width), dots, by.t.flipped() if back else by.t, weights)
    steps.add((rows, columns, by.width), weights, by.v, x)


def together(
    steps: Steps,
    rows: tuple[Matrices, Arg],
    sizes: tuple[int, int],
    some: tuple[int, int],
    spare: Matrices,
) -> Reflectors:
    """Some of the reflectors that are rows of matrices of such sizes, with numbers of their own."""
    (v, taus), (m, n), (first, width) = rows, sizes, some
    own, dots = part(v, first, first), rows_of(spare.at, width, width)
    t, panel = steps.matrices(width, width), words(steps.count, m, n, first, width)
    steps.set((width, width, n - first), own, own.flipped(), dots)
    steps.spread(STEM, "block", steps.count * width, dots.at, taus, t.at, panel)
    return Reflectors(first, width, own, t)


def multiplied(
    steps: Steps,
    made: list[Reflectors],
    q: Matrices,
    sizes: tuple[int, int],
    spare: tuple[Matrices, Matrices],
) -> None:
    """Makes the first rows of the product of all reflectors, the last one first."""
    m, n = sizes
    steps.move(sizes, q, q, kept=NONE)
    for by in reversed(made):
        k = by.first
        reflected(steps, by, part(q, k, k), (m - k, n - k), spare, back=True)


@recipe("_linalg_gelqf")
def lq(job: Job) -> Recipe | None:
    """Reflectors of some rows at a time, applied to the others, then to rows of the identity."""
    dtype = real(job)
    if dtype is None:
        return None
    *lead, m, n = job.inputs[0][0]
    if prod(lead) * m == 0:
        return Recipe(())
    steps, made = Steps(job, dtype, prod(lead)), []
    a, v, q = (steps.matrices(m, n) for _ in range(3))
    spare = steps.matrices(m, SIDE), steps.matrices(m, SIDE)
    taus = steps.room.take(steps.count * m, steps.width)
    steps.move((m, n), rows_of(input_at(0), m, n), a)
    for k in range(0, m, SIDE):
        width = min(SIDE, m - k)
        end, panel = k + width, words(steps.count, m, n, k, width)
        panels(steps, "reflect", n - k, a.at, v.at, taus, panel)
        made.append(together(steps, (v, taus), (m, n), (k, width), spare[0]))
        reflected(steps, made[-1], part(a, end, k), (m - end, n - k), spare)
    multiplied(steps, made, q, (m, n), spare)
    steps.move((m, n), q, rows_of(output_at(0), m, n), request=req(0))
    steps.move((m, m), a, rows_of(output_at(1), m, m), kept=LOWER, request=req(1))
    return Recipe(tuple(steps.launches), steps.room.bytes)
