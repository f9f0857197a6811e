"""Recipes of all operator cases, run on the host, give what the Rust kernels give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import Run, Sources, job_of, on_the_cpu
from ops.case import Case, numpy_type
from ops.run import Call, backward, parts, second_order, to_array, to_arrays
from ops.table import CASES
from ops.tolerance import assert_close

import ferromix as mx
from ferromix import dispatch
from ferromix.dispatch import recipe
from ferromix.ops.card import OperatorProperty
from ferromix.ops.composed import Composed

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

SEED = 3
ADDED = 4
"""Roundings more where a result is added to what was there."""


def kernels_of(card: OperatorProperty) -> Iterator[str]:
    """The kernel rows that a card runs."""
    if not isinstance(card, Composed):
        yield card.kernel_name()
        return
    for part in card.composition.parts:
        yield from kernels_of(part.card)


BY_OPERATOR: dict[str, list[Case]] = {}
for _case in CASES:
    if any(recipe.find(name) for name in kernels_of(_case.card)):
        BY_OPERATOR.setdefault(_case.op, []).append(_case)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Sources:
    return Sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def done() -> set:
    """What was run before, as gradients of many operators run the same."""
    return set()


def calls_of(case: Case, dtype: str) -> Iterator[Call]:
    """The case's own run, or those of its parts; those of its gradient rule, and of the rules of
    hidden operators."""
    arrays = to_arrays(case, case.inputs(dtype), dtype)
    runs = list(parts(case.card, arrays, case.train))
    if case.card.differentiable and dtype in ("float32", "float64", "float16", "bfloat16"):
        outs = dispatch.infer(case.card, tuple((a.shape, a.dtype) for a in arrays))
        outs = outs[: case.card.num_visible_outputs()]
        heads = [to_array(np.linspace(-1, 1, int(np.prod(s))).reshape(s), t) for s, t in outs]
        _, graph = backward(case, arrays, heads)
        runs += [*graph.calls, *second_order(case, graph.calls)]
    for card, inputs in runs:
        yield Call(card, inputs, case.train)


def held(array) -> np.ndarray:
    """The elements, in their own type."""
    memory = np.empty(array.size * numpy_type(array.dtype).itemsize, np.uint8)
    array.read_into(memory)
    return memory.view(numpy_type(array.dtype)).reshape(array.shape)


def before(shape, dtype) -> np.ndarray:
    return np.linspace(-3, 5, int(np.prod(shape))).reshape(shape).astype(numpy_type(dtype))


def requests(count: int) -> Iterator[list[int]]:
    """All written, all added, and where there are several, each alone."""
    yield [dispatch.WRITE] * count
    yield [dispatch.ADD] * count
    for k in range(count if count > 1 else 0):
        yield [dispatch.WRITE if i == k else dispatch.NULL for i in range(count)]


def check(sources: Sources, call: Call, steps: int) -> bool:
    """Compares the runs of one card; False where its recipe leaves it to the CPU."""
    card, train = call.card, call.train
    states = card.mutated_inputs()
    inputs = [held(a) for a in call.inputs]
    for some in requests(len(call.outs)):
        given = [x.copy() for x in inputs]
        outs = [before(*desc) for desc in call.outs] + [given[i] for i in states]
        reqs = [*some, *[dispatch.state_request(card, train)] * len(states)]
        job = job_of(card, given, outs, train)
        made = recipe.find(job.name)(job)
        if made is None:
            return False
        for one in made.launches:
            assert one.entry in sources[one.stem].entries
        mx.random.seed(SEED)
        wanted = on_the_cpu(card, given, outs, reqs, train)
        rates = [float(job.attrs[name]) for name in job.dynamic]
        Run(made, given, outs, reqs, rates, (SEED, 0)).launch(sources)
        for k, (found, want, req) in enumerate(zip(outs, wanted, reqs, strict=True)):
            roundings = steps + ADDED if req == dispatch.ADD else steps
            what = f"{card.name} {card.attrs} {call.descs} output {k} of {reqs}"
            assert_close(found, want, found.dtype.name, roundings, what)
    return True


@pytest.mark.parametrize("op", BY_OPERATOR)
def test_cases(sources, done, op):
    for case in BY_OPERATOR[op]:
        for dtype in case.types():
            for call in calls_of(case, dtype):
                key = call.card.name, repr(call.card.attrs), call.descs, call.train
                if key in done or not recipe.find(call.card.kernel_name()):
                    continue
                done.add(key)
                check(sources, call, case.steps)
