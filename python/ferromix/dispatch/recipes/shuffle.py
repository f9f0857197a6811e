"""Recipe of random orders."""

from __future__ import annotations

from ..recipe import Arg, Job, Launch, Recipe, draws, int64, nothing, recipe, workspace
from ..recipe_lines import convert

__all__: list[str] = []

FEW = 1 << 15
"""Elements that are one bucket."""
BUCKETS = 256
TILE = 4096
"""Elements that a block puts into buckets at a time."""
MOST = 2**31 - 1
"""Places that 32 bits number."""


@recipe("_shuffled_places")
def shuffled(job: Job) -> Recipe | None:
    """Elements in buckets, and an order of each."""
    ((count,), dtype) = job.outputs[0]
    if count > MOST or dtype != "int64":
        return None
    many, places, block = int64(count), workspace(), (job.limits.threads, 1, 1)
    last = convert(job, places, "int32", 0)
    if count <= FEW:
        fill = job.spread("shuffle", "shuffle_fill_int32", count, places, many)
        given = nothing(), places, many, int64(1), draws()
        mix = Launch("shuffle", "shuffle_mix_int32", (1, 1, 1), block, given)
        return Recipe((fill, mix, last), temporary=4 * count)
    tiles = -(-count // TILE)
    starts, number = workspace(4 * count), int64(BUCKETS * tiles)
    rest = many, int64(tiles), draws()

    def launch(word: str, blocks: int, *given: Arg) -> Launch:
        grid = job.blocks(blocks, 1), 1, 1
        return Launch("shuffle", f"shuffle_{word}_int32", grid, block, (*given, *rest))

    launches = (
        launch("count", tiles, starts),
        Launch("indices", "indices_starts_int64", (1, 1, 1), block, (starts, number)),
        launch("spread", tiles, starts, places),
        launch("mix", BUCKETS, starts, places),
        last,
    )
    return Recipe(launches, temporary=4 * (count + BUCKETS * tiles + 1))
