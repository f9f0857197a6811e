"""Recipes of sequences of different lengths."""

from __future__ import annotations

from math import prod

from ..recipe import (
    WRITE,
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    nothing,
    output_at,
    recipe,
    refusal,
    req,
    workspace,
)
from ..recipe_folds import flat_walk, words

__all__ = ["cast", "whole"]


def stepped(
    job: Job, word: str, data: int, *numbers: Arg, least: int | None = None
) -> Recipe | None:
    """The lengths as int64, if there are any, and one launch; array `data` has all steps.

    Lengths below `least` and beyond the steps are refused.
    """
    shape = (*job.inputs, *job.outputs)[data][0]
    dtype, out = job.outputs[0][1], job.outputs[0][0]
    if job.inputs[0][1] != dtype:
        return None
    launches, lengths = list[Launch](), nothing()
    if job.attrs["use_sequence_length"]:
        number, lengths = len(job.inputs) - 1, workspace()
        launches.append(whole(job, number, lengths))
    steps = words(shape[0], shape[1], prod(shape[2:]), job.attrs["axis"])
    told, refusals = (), ()
    if least is not None:
        told, refusals = refused(job, shape[job.attrs["axis"]], least)
    args = input_at(0), lengths, output_at(0), steps, *numbers, req(0), *told
    launches.append(job.spread("sequence", f"sequence_{word}_{dtype}", prod(out), *args))
    room = 8 * shape[1 - job.attrs["axis"]]
    return Recipe(tuple(launches), temporary=room, refusals=refusals)


def refused(
    job: Job, steps: int, least: int
) -> tuple[tuple[Arg, ...], tuple[tuple[str, str], ...]]:
    """Where lengths are refused, and with which words, if any may be."""
    if steps and not job.attrs["use_sequence_length"]:
        return (nothing(),), ()
    name = job.name.removeprefix("_backward_")
    text = f"{name}: a sequence length is {{}}, expected {least} to {steps}"
    return (refusal(),), (("index", text),)


def whole(job: Job, number: int, to: Arg) -> Launch:
    """An input as int64, cut."""
    shape, kind = job.inputs[number]
    given = input_at(number), to, flat_walk(prod(shape)), WRITE
    return job.spread("elemwise", cast(kind), prod(shape), *given)


def cast(kind: str) -> str:
    """The entry point that gives int64."""
    return "elemwise_copy_int64" if kind == "int64" else f"elemwise_Cast_{kind}_int64"


@recipe("SequenceMask")
def mask(job: Job) -> Recipe | None:
    """A number behind the end."""
    return stepped(job, "mask", 0, job.number("value"))


@recipe("SequenceReverse")
def reverse(job: Job) -> Recipe | None:
    """What is before the end, from there."""
    return stepped(job, "reverse", 0, least=0)


@recipe("SequenceLast")
def last(job: Job) -> Recipe | None:
    """The last steps."""
    return stepped(job, "last", 0, least=1)


@recipe("_backward_SequenceLast")
def last_backward(job: Job) -> Recipe | None:
    """Zeros, and gradients at the last steps."""
    return stepped(job, "last_backward", -1, least=1)
