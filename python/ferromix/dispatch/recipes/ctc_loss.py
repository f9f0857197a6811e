"""The recipe of connectionist temporal classification."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    refusal,
    req,
    struct,
)
from ..recipe_folds import along, split
from ..recipe_room import Room
from .sequence import whole

__all__: list[str] = []

WORD = 8
"""Bytes of whole numbers, and of logarithms of paths."""


@recipe("CTCLoss")
def ctc_loss(job: Job) -> Recipe | None:
    """Labels and lengths as int64, the paths of each sequence there and back, and the gradient."""
    ((steps, batch, classes), dtype), ((_, labels), _) = job.inputs[:2]
    room, launches, numbers = Room(), list[Launch](), list[Arg]()
    for place, (shape, _) in enumerate(job.inputs[1:], 1):
        numbers.append(room.take(prod(shape), WORD))
        launches.append(whole(job, place, numbers[-1]))
    lengths = [nothing(), nothing()]
    for place, name in enumerate(("use_data_lengths", "use_label_lengths")):
        if job.attrs[name]:
            lengths[place] = numbers[1 + (place and job.attrs["use_data_lengths"])]
    first = job.attrs["blank_label"] == "first"
    sizes = steps, batch, classes, labels, 0 if first else classes - 1, 0 if first else -1
    reached = batch * steps * (2 * labels + 1)
    own = [batch * labels, batch * classes, batch, batch, steps * batch, batch, reached, reached]
    places = [room.take(count, WORD) for count in own]
    paths = struct(*map(int64, sizes), *places)
    threads = (job.limits.threads, 1, 1)

    def add(word: str, grid: tuple[int, int, int], block: tuple[int, int, int], *args: Arg) -> None:
        if prod(grid):
            launches.append(Launch("ctc_loss", f"ctc_loss_{word}", grid, block, args))

    add("labels_int64", (batch, 1, 1), threads, numbers[0], *lengths, paths, refusal())
    how = split(job.limits, steps * batch, classes, 1)
    lines = input_at(0), places[4], along(steps * batch, classes, 1)
    add(f"sums_{dtype}", how.grid, how.block, *lines)
    given = input_at(0), output_at(0), paths, req(0), req(1)
    add(f"paths_{dtype}", (batch, 2, 1), threads, *given)
    given, entry = (input_at(0), output_at(1), paths, req(1)), f"ctc_loss_gradient_{dtype}"
    launches.append(job.spread("ctc_loss", entry, steps * batch * classes, *given))
    return Recipe(tuple(launches), room.bytes, refusals=refusals(steps, labels, classes))


def refusals(steps: int, labels: int, classes: int) -> tuple[tuple[str, str], ...]:
    """What is refused."""
    text = "CTCLoss: {} has a length of {{}}, expected 0 to {}"
    lengths = text.format("data_lengths", steps), text.format("label_lengths", labels)
    label = f"CTCLoss: label {{}} of a sequence is out of bounds for {classes} classes"
    return tuple(("index", sentence) for sentence in (*lengths, label))
