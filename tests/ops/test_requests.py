"""Requests null, write, in place and add, of every operator and of those in its gradient."""

import numpy as np

import ferromix as mx
from ferromix import dispatch

from .by_operator import by_operator
from .run import ADD, INPLACE, NULL, WRITE, Call, backward, parts, second_order, to_array, to_arrays
from .table import CASES
from .tolerance import RELATIVE, assert_close


def calls_of(case):
    """The case's own run, or those of its parts; those of its gradient rule, and of the rules of
    hidden operators."""
    dtype = case.types()[0]
    arrays = to_arrays(case, case.inputs(dtype), dtype)
    calls = [Call(*run, case.train) for run in parts(case.card, arrays, case.train)]
    if case.card.differentiable:
        outs = dispatch.infer(case.card, tuple((a.shape, a.dtype) for a in arrays))
        outs = outs[: case.card.num_visible_outputs()]
        heads = [to_array(np.linspace(-1, 1, int(np.prod(s))).reshape(s), t) for s, t in outs]
        _, graph = backward(case, arrays, heads)
        runs = [*graph.calls, *second_order(case, graph.calls)]
        calls += [Call(card, inputs, case.train) for card, inputs in runs]
    return calls


def presets(call):
    return [to_array(np.linspace(-3, 5, int(np.prod(s))).reshape(s), t) for s, t in call.outs]


def assert_added(found, total, dtype, what):
    """On GPUs a library adds a bias, products and what was there, in an order of its own, each of
    which rounds by the largest."""
    if mx.current_context().device_type == "gpu" and dtype in RELATIVE:
        largest = np.abs(total.astype("float64")).max(initial=0, where=np.isfinite(total))
        error = np.abs(found.astype("float64") - total)
        found = np.where(error <= 4 * RELATIVE[dtype] * largest, total, found)
    assert_close(found, total, dtype, 4, what)


@by_operator(CASES)
def test_requests(case):
    for call in calls_of(case):
        n = len(call.outs)
        before = presets(call)
        old = call.run([NULL] * n, before)[:n]
        written = call.run([WRITE] * n, before)
        for array, value in zip(call.run([WRITE] * n), written, strict=True):
            assert array.tobytes() == value.tobytes(), f"{call.card.name} reads its output"
        added = call.run([ADD] * n, before)
        for k in range(n):
            what = f"{call.card.name} output {k}"
            dtype = call.outs[k][1]
            np.testing.assert_array_equal(old[k], _values(before[k]), err_msg=what)
            total = (old[k].astype("float64") + written[k]).astype(old[k].dtype)
            assert_added(added[k], total, dtype, f"{what} added")
            alone = call.run([WRITE if i == k else NULL for i in range(n)], before)
            assert alone[k].tobytes() == written[k].tobytes(), f"{what} alone"
            others = [i for i in range(n) if i != k]
            assert all(alone[i].tobytes() == old[i].tobytes() for i in others), f"{what} alone"


@by_operator(CASES)
def test_in_place(case):
    for call in calls_of(case):
        n = len(call.outs)
        written = call.run([WRITE] * n)
        options = call.card.inplace_options()
        if mx.current_context().device_type == "cpu":
            options = [*options, *call.card.cpu_inplace_options()]
        for i, k in options:
            same_size = np.prod(call.descs[i][0]) == np.prod(call.outs[k][0])
            if not same_size or call.descs[i][1] != call.outs[k][1]:
                continue
            reqs = [INPLACE if j == k else WRITE for j in range(n)]
            found = call.run(reqs, shared=(i, k))
            for j in range(n):
                what = f"{call.card.name}: output {k} in the place of input {i}"
                assert found[j].tobytes() == written[j].tobytes(), what


@by_operator(CASES)
def test_ignored_inputs_are_not_read(case):
    for call in calls_of(case):
        ignored = set(call.card.ignored_inputs()) - set(call.card.mutated_inputs())
        if not ignored:
            continue
        reqs = [WRITE] * len(call.outs)
        written = call.run(reqs)
        call.inputs = [
            to_array(np.full(a.shape, 77), a.dtype) if i in ignored else a
            for i, a in enumerate(call.inputs)
        ]
        for array, value in zip(call.run(reqs), written, strict=True):
            assert array.tobytes() == value.tobytes(), (
                f"{call.card.name} reads an input that its card's ignored_inputs names"
            )


def _values(array):
    from ferromix.ndarray import NDArray

    return NDArray(array).asnumpy()
