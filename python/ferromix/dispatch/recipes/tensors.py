"""Recipes of any number of tensors at once: squared norms, whether all is finite, zeros."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int32,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)

__all__: list[str] = []

AT_ONCE = 64
"""Arrays of a launch, as the source has them."""
SHARE = 16
"""Elements of a thread, before blocks share an array."""


def power_below(number: int) -> int:
    """The greatest power of two that is not above a number."""
    return 1 << (number.bit_length() - 1)


def groups(job: Job) -> list[tuple[int, Arg, int, int]]:
    """For each launch the first array, all of them, their number, and the blocks for each."""
    threads, found = power_below(job.limits.threads), []
    sizes = [prod(shape) for shape, _ in job.inputs]
    for first in range(0, len(sizes), AT_ONCE):
        some = range(first, min(first + AT_ONCE, len(sizes)))
        rest = AT_ONCE - len(some)
        arrays = [*map(input_at, some), *[nothing()] * rest]
        lengths = [*(int64(sizes[k]) for k in some), *[int64(0)] * rest]
        most = max(sizes[k] for k in some)
        parts = job.blocks(most, threads * SHARE)
        found.append((first, struct(int64(len(some)), *arrays, *lengths), len(some), parts))
    return found


def one_type(job: Job) -> str | None:
    """The type of all inputs; None for several."""
    types = {dtype for _, dtype in job.inputs}
    return types.pop() if len(types) == 1 and job.outputs[0][1] == "float32" else None


@recipe("multi_sum_sq")
def squares(job: Job) -> Recipe | None:
    """What blocks find for each array, then their sums."""
    dtype, launches, temporary = one_type(job), list[Launch](), 0
    if dtype is None:
        return None
    block = (1, power_below(job.limits.threads), 1)
    for first, arrays, count, parts in groups(job):
        find = f"tensors_squares_{dtype}"
        launches.append(Launch("tensors", find, (parts, count, 1), block, (arrays, workspace())))
        numbers = int64(first), int64(count), int64(parts), req(0)
        given = workspace(), output_at(0), *numbers
        launches.append(job.spread("tensors", "tensors_sums_float32", count, *given))
        temporary = max(temporary, 8 * parts * count)
    return Recipe(tuple(launches), temporary)


@recipe("all_finite", "multi_all_finite")
def finite(job: Job) -> Recipe | None:
    """A search that leaves a mark, and what follows from it."""
    dtype = one_type(job)
    if dtype is None:
        return None
    block = (1, power_below(job.limits.threads), 1)
    launches = [job.spread("tensors", "tensors_start_int32", 1, workspace())]
    for _, arrays, count, parts in groups(job):
        find = f"tensors_search_{dtype}"
        launches.append(Launch("tensors", find, (parts, count, 1), block, (arrays, workspace())))
    given = workspace(), output_at(0), int32(int(bool(job.attrs["init_output"]))), req(0)
    launches.append(job.spread("tensors", "tensors_verdict_float32", 1, *given))
    return Recipe(tuple(launches), temporary=4)


@recipe("reset_arrays")
def reset(job: Job) -> Recipe | None:
    """Zeros in each."""
    launches = []
    for k, (shape, dtype) in enumerate(job.outputs):
        given = output_at(k), int64(prod(shape)), req(k)
        launches.append(job.spread("affine", f"affine_clear_{dtype}", prod(shape), *given))
    return Recipe(tuple(launches))
