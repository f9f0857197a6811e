"""The recipe of eigenvectors of symmetric matrices."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Launch, Recipe, input_at, int64, output_at, recipe, refusal, req
from .linalg_factors import LEAST, MOST, multiplied, together
from .linalg_triangles import real
from .matrices import MOST_BLOCKS, SIDE, Steps

__all__: list[str] = []

STEM = "linalg_eigen"
FINDING, COLUMNS = 32, 128
"""Threads that find rotations, and columns of a block, as the source has them."""
ROTATION = 24
"""Bytes of a rotation at most."""
WARP = 32


@recipe("_linalg_syevd")
def eigenvectors(job: Job) -> Recipe | None:
    """Three diagonals, the product of the reflectors that lead there, and rotations of its rows."""
    dtype = real(job)
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    count = prod(lead)
    if count * n == 0:
        return Recipe(())
    steps = Steps(job, dtype, count)
    room, number, many = steps.room, int64(n), int64(count)
    a, v, u = (steps.matrices(n, n) for _ in range(3))
    spare = steps.matrices(n, SIDE), steps.matrices(n, SIDE)
    taus, sums = room.take(count * n, steps.width), room.take(2 * count * n, steps.width)
    diagonals, scales = room.take(2 * count * n, 8), room.take(count, 8)
    threads = min(MOST, max(LEAST, 1 << (n - 1).bit_length()))
    given = input_at(0), a.at, v.at, taus, sums, diagonals, scales, number, many
    grid, entry = (job.blocks(count, 1), 1, 1), f"{STEM}_reduce_{dtype}"
    steps.launches.append(Launch(STEM, entry, grid, (1, threads, 1), given))
    some = [(k, min(SIDE, n - 2 - k)) for k in range(0, n - 2, SIDE)]
    made = [together(steps, (v, taus), (n, n), own, spare[0]) for own in some]
    multiplied(steps, made, u, (n, n), spare)
    blocks, rows = -(-n // COLUMNS), min(job.blocks(count, 1), MOST_BLOCKS)
    work = room.take(2 * n * blocks * count, 8)
    rotations = room.take(4 * n * blocks * rows, ROTATION)
    given = u.at, diagonals, work, rotations, number, many, refusal()
    grid, block, entry = (blocks, rows, 1), (FINDING + COLUMNS, 1, 1), f"{STEM}_turn_{dtype}"
    steps.launches.append(Launch(STEM, entry, grid, block, given))
    ends = output_at(0), output_at(1), number, int64(blocks), many, req(0), req(1)
    steps.spread(STEM, "write", WARP * count * n, u.at, work, scales, *ends)
    text = f"{job.name}: an eigenvalue was not found in 64 steps"
    return Recipe(tuple(steps.launches), room.bytes, refusals=(("value", text),))
