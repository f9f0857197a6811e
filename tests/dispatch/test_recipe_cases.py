"""Recipes of all operator cases, run on the host, give what the Rust kernels give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import LIMITS, Run, Sources, job_of, on_the_cpu
from ops.case import Case, numpy_type
from ops.run import Call, backward, kernel_rows, parts, second_order, to_array, to_arrays
from ops.table import CASES
from ops.tolerance import assert_close
from table import operators
from test_cuda_sample import outermost as reference

import ferromix as mx
from ferromix import dispatch
from ferromix.dispatch import recipe
from ferromix.dispatch.reasons import in_part, without
from ferromix.dispatch.recipe import Job, Limits, Recipe
from ferromix.dispatch.recipe_folds import split
from ferromix.dispatch.recipes.sample import outermost
from ferromix.ops.card import make
from ferromix.ops.family import FLOATS

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

SEED = 3
ROWS_OF = [
    *["math", "binary", "elemwise", "scalar", "activation", "softmax", "reduce", "pooling"],
    *["optimizer", "dropout", "sample", "batch_norm"],
]
"""Stems of sources that have recipes for all rows of the Rust table."""
GRADIENT = 2
"""How many times the roundings of its output a gradient has, whose sums go over the batch, too."""
ADDED = 4
"""Roundings more where a result is added to what was there."""


BY_OPERATOR: dict[str, list[Case]] = {}
for _case in CASES:
    if any(recipe.find(name) for name in kernel_rows(_case.card)):
        BY_OPERATOR.setdefault(_case.op, []).append(_case)


@pytest.fixture(scope="module")
def done() -> set:
    """What was run before, as gradients of many operators run the same."""
    return set()


def calls_of(case: Case, dtype: str) -> Iterator[tuple[Call, int]]:
    """The case's own run, or those of its parts; those of its gradient rule, and of the rules of
    hidden operators. With each comes how many roundings add up."""
    arrays = to_arrays(case, case.inputs(dtype), dtype)
    for card, inputs in parts(case.card, arrays, case.train):
        yield Call(card, inputs, case.train), case.steps
    if case.card.differentiable and dtype in FLOATS:
        outs = dispatch.infer(case.card, tuple((a.shape, a.dtype) for a in arrays))
        outs = outs[: case.card.num_visible_outputs()]
        heads = [to_array(np.linspace(0.25, 1, int(np.prod(s))).reshape(s), t) for s, t in outs]
        _, graph = backward(case, arrays, heads)
        for card, inputs in (*graph.calls, *second_order(case, graph.calls)):
            yield Call(card, inputs, case.train), GRADIENT * case.steps


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


class Runner:
    """Runs of one card by its recipe."""

    def __init__(self, sources: Sources, call: Call, limits: Limits = LIMITS) -> None:
        self.sources, self.call, self.limits = sources, call, limits
        self.inputs = [held(a) for a in call.inputs]
        self.state_request = dispatch.state_request(call.card, call.train)

    def made(self, given: list[np.ndarray], outs: list[np.ndarray]) -> tuple[Job, Recipe | None]:
        """What runs, and its recipe."""
        job = replace(job_of(self.call.card, given, outs, self.call.train), limits=self.limits)
        make = recipe.find(job.name)
        assert make is not None
        return job, make(job)

    def is_left(self) -> bool:
        """Whether the CPU runs this."""
        return self.made(*self.arrays())[1] is None

    def arrays(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Inputs, and outputs with something in them; then the states."""
        given = [x.copy() for x in self.inputs]
        states = [given[i] for i in self.call.card.mutated_inputs()]
        return given, [before(*desc) for desc in self.call.outs] + states

    def requests(self, some: list[int]) -> list[int]:
        return [*some, *[self.state_request] * len(self.call.card.mutated_inputs())]

    def launch(self, given, outs, reqs) -> None:
        job, found = self.made(given, outs)
        assert found is not None, f"{job.name} leaves {job.inputs} to the CPU"
        for one in found.launches:
            assert one.entry in self.sources[one.stem].entries
        rates = [float(job.attrs[name]) for name in job.dynamic]
        Run(found, given, outs, reqs, rates, (SEED, 0)).launch(self.sources)

    def wanted(self, given, outs, reqs) -> list[np.ndarray]:
        mx.random.seed(SEED)
        return on_the_cpu(self.call.card, given, outs, reqs, self.call.train)

    def like(self, outs, wanted, reqs, steps: int) -> None:
        rows = zip(outs, wanted, reqs, strict=True)
        for k, (found, want, req) in enumerate(rows):
            roundings = steps + ADDED if req == dispatch.ADD else steps
            what = f"{self.call.card.name} of {self.call.descs}: output {k} of {reqs}"
            assert_close(found, want, found.dtype.name, roundings, what)

    def check(self, steps: int) -> None:
        """Compares with the CPU, for all requests."""
        for some in requests(len(self.call.outs)):
            given, outs = self.arrays()
            reqs = self.requests(some)
            wanted = self.wanted(given, outs, reqs)
            self.launch(given, outs, reqs)
            self.like(outs, wanted, reqs, steps)

    def check_in_place(self, steps: int) -> None:
        """Compares outputs that take the place of inputs."""
        for i, k in self.call.card.inplace_options():
            given, outs = self.arrays()
            if given[i].size != outs[k].size or given[i].dtype != outs[k].dtype:
                continue
            reqs = self.requests([dispatch.WRITE] * len(self.call.outs))
            wanted = self.wanted(given, outs, reqs)
            outs[k] = given[i].reshape(outs[k].shape)
            reqs[k] = dispatch.INPLACE
            self.launch(given, outs, reqs)
            self.like(outs, wanted, reqs, steps)


@pytest.mark.nightly
@pytest.mark.parametrize("op", BY_OPERATOR)
def test_cases(sources, done, op):
    for case in BY_OPERATOR[op]:
        for dtype in case.types():
            for call, steps in calls_of(case, dtype):
                key = call.card.name, repr(call.card.attrs), call.descs, call.train
                if key in done or not recipe.find(call.card.kernel_name()):
                    continue
                done.add(key)
                runner = Runner(sources, call)
                if runner.is_left():
                    assert call.card.kernel_name() in in_part(), call.card.name
                    continue
                runner.check(steps)
                runner.check_in_place(steps)


WIDE = Limits(processors=6, threads=64)
LARGER = [
    ("sum", {"axis": 0}, [(3000, 3)], False),
    ("sum", {"axis": (0, 2)}, [(50, 3, 40)], False),
    ("mean", {"axis": 1}, [(2, 5000)], False),
    ("max", {}, [(70, 90)], False),
    ("norm", {"axis": 1, "ord": 2}, [(3, 900, 4)], False),
    ("_sum_like", {}, [(2, 700, 3), (1, 3)], False),
    ("_broadcast_back", {"axis": 0, "mean": True}, [(7,), (3001, 7)], False),
    ("_broadcast_back", {"axis": (0, 2), "mean": True}, [(1, 3, 1), (30, 3, 11)], False),
    ("softmax", {"axis": 1}, [(2, 700)], False),
    ("log_softmax", {"axis": 1}, [(5, 300, 2)], False),
    ("LeakyReLU", {"act_type": "prelu"}, [(40, 3, 9), (3,)], False),
    ("_backward_LeakyReLU", {"act_type": "prelu"}, [(40, 3, 9), (40, 3, 9), (3,)], False),
    ("_backward_LeakyReLU", {"act_type": "prelu"}, [(400, 3), (400, 3), (3,)], False),
    ("Dropout", {"axes": (1,)}, [(6, 50, 7)], True),
    ("Dropout", {"axes": (0, 2), "mode": "always", "p": 0.25}, [(6, 50, 7)], False),
    ("BatchNorm", {"fix_gamma": False}, [(40, 3, 7), *[(3,)] * 4], True),
    ("BatchNorm", {"fix_gamma": False, "axis": -1}, [(70, 5), *[(5,)] * 4], True),
    ("_batch_norm_again", {"fix_gamma": False}, [(40, 3, 7), *[(3,)] * 4], True),
    ("_batch_norm_again", {"axis": -1}, [(70, 5), *[(5,)] * 4], True),
    ("_backward_pdf_gamma", {}, [(2, 5000), (2, 5000), (2,), (2,)], False),
    ("_backward_pdf_exponential", {"is_log": True}, [(3, 700), (3, 700), (3,)], False),
    ("_backward_pdf_dirichlet", {}, [(2, 300), (2, 300, 5), (2, 5)], False),
    ("_random_pdf_dirichlet", {"is_log": True}, [(5, 300), (300,)], False),
]
"""Folds that many threads, and blocks, share: operator, attributes, shapes, whether to train."""


@pytest.mark.parametrize("row", LARGER, ids=lambda row: row[0])
def test_larger_grids(sources, row):
    name, attrs, shapes, train = row
    rng = np.random.default_rng(5)
    card = make(name, attrs)
    common = set(card.dtypes).intersection(FLOATS, *card.argument_dtypes.values())
    for dtype in sorted(common):
        arrays = [to_array(rng.uniform(0.5, 1, shape), dtype) for shape in shapes]
        Runner(sources, Call(card, arrays, train), WIDE).check(16)


def job(name: str, attrs: dict, inputs: list, outputs: list) -> Job:
    card = make(name, attrs)
    given = card.kernel_attrs(False)
    return Job(card, card.kernel_name(), given, inputs, outputs, False, [], LIMITS)


def found(*given) -> Recipe | None:
    what = job(*given)
    maker = recipe.find(what.name)
    assert maker is not None
    return maker(what)


def test_many_axes_merge_or_are_the_cpus():
    whole = (2,) * 10
    some = [(whole, "float32"), ((2,) * 6, "float32")]
    assert found("broadcast_add", {}, some, [(whole, "float32")])
    some = [((2, 1) * 9, "float32"), ((1, 2) * 9, "float32")]
    assert found("broadcast_add", {}, some, [((2,) * 18, "float32")]) is None
    some, kept = [((2,) * 18, "float32")], ((2,) * 9, "float32")
    assert found("sum", {"axis": tuple(range(0, 18, 2))}, some, [kept]) is None
    assert found("sum", {"axis": tuple(range(9))}, some, [kept])
    assert found("_broadcast_back", {"axis": tuple(range(0, 18, 2))}, [kept, *some], some) is None


def test_what_the_sources_have_no_types_for_is_the_cpus():
    half, single = ((2, 3), "float16"), ((2, 3), "float32")
    channels = [((3,), "float16")] * 4
    assert found("BatchNorm", {}, [half, *channels], [half, *channels]) is None
    assert found("_backward_softmax", {}, [single, half], [single]) is None
    assert found("exp", {}, [((2,), "bool")], [((2,), "bool")]) is None
    whole = ((2,), "int32")
    assert found("Activation", {"act_type": "relu"}, [whole], [whole]) is None


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_stay_between_the_outermost_of_their_type(dtype):
    ends = [(0.0, 1.0), (-1.0, 0.0), (2.1, 2.9), (0.0, 1e9), (2.0001, 2.0002), (3.0, 3.0)]
    for low, high in [*ends, (-1e9, 1e-30), (1e-9, 1e-8), (-1e39, 1e39)]:
        with np.errstate(over="ignore"):
            wanted = reference(low, high, numpy_type(dtype))
        assert outermost(low, high, dtype) == wanted, (low, high)


def test_all_rows_of_the_sources_have_recipes():
    for stem in ROWS_OF:
        missing = set(operators(stem)) - set(recipe.rows()) - set(without())
        assert missing == set(), stem


@pytest.mark.parametrize("threads", [32, 64, 256])
@pytest.mark.parametrize("processors", [1, 132])
def test_threads_of_a_fold_are_a_power_of_two_along_y(threads, processors):
    limits = Limits(processors, threads)
    counts = [0, 1, 3, 32, 1000, 10**6]
    for outputs, count, shared in product(counts, counts, (False, True)):
        for side in {1, 3, max(1, outputs)}:
            how = split(limits, outputs, count, side, shared)
            x, y, z = how.block
            assert x * y * z <= 1024
            assert y & (y - 1) == 0
            assert 1 <= how.blocks <= 32 * processors
            assert how.parts == 1 or (shared and how.blocks * how.parts <= 8 * processors)
