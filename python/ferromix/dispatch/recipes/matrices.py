"""Steps of factors and of systems of equations of matrices in temporary memory."""

from __future__ import annotations

from dataclasses import replace

from ..recipe import ADD, WRITE, Arg, Job, Launch, Step, float64, int64, nothing, struct
from ..recipe_room import Room
from .dot import Matrices, products

__all__ = ["ALL", "LOWER", "MOST_BLOCKS", "NONE", "SIDE", "UPPER", "Steps", "part", "rows_of"]

SIDE, COLUMNS = 32, 64
"""Sides of triangles that are solved at once, and columns of a block, as the source has them."""
MOST_BLOCKS = 65535
"""Blocks along y and z."""
ALL, LOWER, UPPER, NONE = range(4)
"""What is kept of a matrix that is copied; of none it becomes rows of the identity."""


def rows_of(at: Arg, rows: int, columns: int) -> Matrices:
    """Matrices without gaps."""
    return Matrices(at, columns, 1, rows * columns)


def part(m: Matrices, row: int, column: int) -> Matrices:
    """What begins there."""
    return replace(m, first=m.first + row * m.row + column * m.column)


class Steps:
    """Launches for `count` matrices, and the temporary memory that they share.

    Factors keep the digits of their type: nothing is rounded for tensor cores.
    """

    def __init__(self, job: Job, dtype: str, count: int) -> None:
        self.job = replace(job, limits=replace(job.limits, tf32=False))
        self.dtype, self.count, self.room = dtype, count, Room()
        self.width = 8 if dtype == "float64" else 4
        self.launches: list[Step] = []

    def matrices(self, rows: int, columns: int) -> Matrices:
        """Some in temporary memory."""
        return rows_of(self.room.take(self.count * rows * columns, self.width), rows, columns)

    def spread(self, stem: str, word: str, count: int, *args: Arg) -> None:
        """A launch with a thread for each."""
        launch = self.job.spread(stem, f"{stem}_{word}_{self.dtype}", count, *args)
        self.launches.append(launch)

    def move(
        self,
        sizes: tuple[int, int],
        source: Matrices,
        to: Matrices,
        scale: float = 1.0,
        kept: int = ALL,
        request: Arg = WRITE,
        singular: Arg | None = None,
    ) -> None:
        """Copies matrices, times a number, or a triangle of them and zeros."""
        rows, columns = sizes
        steps = (n for m in (source, to) for n in (m.first, m.batch, m.row, m.column))
        numbers = self.count, rows, columns, *steps, kept
        arg = struct(*map(int64, numbers), float64(scale))
        args = source.at, to.at, singular or nothing(), arg, request
        self.spread("linalg_products", "move", self.count * rows * columns, *args)

    def add(
        self,
        sizes: tuple[int, int, int],
        a: Matrices,
        b: Matrices,
        to: Matrices,
        scale: float = -1.0,
    ) -> None:
        """Adds products, times a number, to matrices of which rows have no gaps."""
        given = (self.count, *sizes), a, b, to, scale, ADD
        self.launches += products(self.job, 0, *given)

    def set(self, sizes: tuple[int, int, int], a: Matrices, b: Matrices, to: Matrices) -> None:
        """Products."""
        given = (self.count, *sizes), a, b, to, 1.0, WRITE
        self.launches += products(self.job, 0, *given)

    def solve(
        self, sizes: tuple[int, int], a: Matrices, x: Matrices, lower: bool, unit: bool = False
    ) -> None:
        """Solves equations with triangles; the unknowns take the place of the right side.

        `sizes` are the side of a triangle, and how many right sides it has. What is known of some
        unknowns goes into the other equations by a product.
        """
        n, columns = sizes
        if self.count * columns == 0:
            return
        starts = range(0, n, SIDE)
        for k in starts if lower else reversed(starts):
            end = min(k + SIDE, n)
            self._small((end - k, columns), part(a, k, k), part(x, k, 0), lower, unit)
            first, last = (end, n) if lower else (0, k)
            size = last - first, columns, end - k
            if last > first:
                self.add(size, part(a, first, k), part(x, k, 0), part(x, first, 0))

    def _small(
        self, sizes: tuple[int, int], a: Matrices, x: Matrices, lower: bool, unit: bool
    ) -> None:
        """Equations that a block has in shared memory."""
        triangle, right = (a.first, a.batch, a.row, a.column), (x.first, x.batch, x.row)
        numbers = self.count, *sizes, *triangle, *right, int(lower), int(unit)
        args = a.at, x.at, struct(*map(int64, numbers))
        grid = -(-sizes[1] // COLUMNS), min(self.count, MOST_BLOCKS), 1
        entry = f"linalg_products_solve_{self.dtype}"
        self.launches.append(Launch("linalg_products", entry, grid, (COLUMNS, 1, 1), args))
