"""Recipes of the densities of Dirichlet's distributions, and of their gradients."""

from __future__ import annotations

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
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import split, words

__all__: list[str] = []


class Points:
    """The points of a job, and launches whose threads share their sums."""

    def __init__(self, job: Job, sample: Shape, alpha: Shape) -> None:
        self.job, self.dtype, self.classes = job, job.outputs[0][1], alpha[-1]
        self.rows, self.points = prod(alpha[:-1]), prod(sample[:-1])
        self.per = self.points // max(1, self.rows)
        self.is_log = bool(job.attrs["is_log"])
        self.arg = words(self.rows, self.per, self.classes, self.is_log)
        self.tops = workspace()
        self.densities = workspace(16 * self.rows)

    @property
    def temporary(self) -> int:
        """Bytes of what the rows contribute, and of densities."""
        return 16 * self.rows + 8 * self.points

    def shared(self, word: str, outputs: int, count: int, side: int, *args: Arg) -> Launch:
        """Sums of `count` terms each, of which `side` have theirs side by side."""
        how = split(self.job.limits, outputs, count, side)
        return Launch("dirichlet", f"dirichlet_{word}_{self.dtype}", how.grid, how.block, args)

    def prepared(self, alpha: Arg) -> Launch:
        """What the rows contribute."""
        return self.shared("tops", self.rows, self.classes, 1, alpha, self.tops, self.arg)

    def forward(self, first: int, out: Arg, densities: Arg, request: Arg) -> Launch:
        """The densities of points, the input `first`."""
        given = input_at(first), input_at(first + 1), self.tops, out, densities, self.arg, request
        return self.shared("forward", self.points, self.classes, 1, *given)


@recipe("_random_pdf_dirichlet")
def forward(job: Job) -> Recipe | None:
    """What the rows contribute, then threads share the coordinates of a point."""
    (sample, dtype), (alpha, _) = job.inputs
    if any(t != dtype or dtype not in FLOATS for _, t in (*job.inputs, *job.outputs)):
        return None
    points = Points(job, sample, alpha)
    last = points.forward(0, output_at(0), nothing(), req(0))
    return Recipe((points.prepared(input_at(1)), last), temporary=points.temporary)


@recipe("_backward_pdf_dirichlet")
def backward(job: Job) -> Recipe | None:
    """The same densities, by which gradients are multiplied; then those of both inputs."""
    (_, dtype), (sample, _), (alpha, _) = job.inputs
    if any(t != dtype or dtype not in FLOATS for _, t in (*job.inputs, *job.outputs)):
        return None
    points = Points(job, sample, alpha)
    ready, densities = [points.prepared(input_at(2))], nothing()
    if not points.is_log:
        densities = points.densities
        ready.append(points.forward(1, nothing(), densities, WRITE))
    arrays = input_at(0), input_at(1), input_at(2)
    given = *arrays, densities, output_at(0), points.arg, req(0)
    entry = f"dirichlet_sample_{dtype}"
    to_sample = job.spread("dirichlet", entry, prod(sample), *given)
    given = *arrays, points.tops, densities, output_at(1), points.arg, req(1)
    count = points.rows * points.classes
    to_alpha = points.shared("alpha", count, points.per, points.classes, *given)
    return Recipe((*ready, to_sample, to_alpha), temporary=points.temporary)
