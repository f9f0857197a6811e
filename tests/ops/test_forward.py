"""Every operator against its oracle: in every claimed type, on views, and through out=."""

import numpy as np

import ferromix as mx
from ferromix import _core, dispatch

from .by_operator import by_operator
from .run import forward, to_array, to_arrays, to_numpy
from .table import CASES, EDGES
from .tolerance import assert_close

BY_TYPE = [(c, t) for c in CASES for t in c.types()]


def check(case, dtype, arrays, inputs):
    outputs = forward(case, arrays)[: case.card.num_visible_outputs()]
    types = [o.dtype for o in outputs]
    assert types == case.result_types(dtype)
    expected = case.expected(inputs, *(types or [dtype]))
    assert len(expected) == len(outputs)
    for name, found, wanted in zip(case.card.list_outputs(), outputs, expected, strict=False):
        assert_close(to_numpy(found), wanted, found.dtype, case.steps, f"{case.id} {name}")


@by_operator(BY_TYPE)
def test_forward(case, dtype):
    inputs = case.inputs(dtype)
    check(case, dtype, to_arrays(case, inputs, dtype), inputs)


def gaps(values, dtype):
    """A view of every other element of a longer array."""
    flat = np.full(2 * values.size + 1, 77.0)
    flat[1::2] = values.reshape(-1)
    strides = [2 * s // 8 for s in np.zeros(values.shape).strides]
    return to_array(flat, dtype).view(1, values.shape, strides)


def transposed(values, dtype):
    """A view of an array whose axes are in reverse order."""
    other = to_array(np.array(values.T, order="C"), dtype)
    return other.view(0, values.shape, tuple(reversed(other.strides)))


def has_views(case):
    """Whether a view of the inputs can have gaps; states are changed where they are."""
    whole = all(np.prod(s) > 0 for s in case.shapes)
    return bool(case.shapes) and whole and not case.card.mutated_inputs()


@by_operator((c, layout) for c in EDGES if has_views(c) for layout in (gaps, transposed))
def test_forward_of_views(case, layout):
    dtype = case.types()[0]
    inputs = case.inputs(dtype)
    check(case, dtype, to_arrays(case, inputs, dtype, layout), inputs)


@by_operator(c for c in EDGES if c.card.list_outputs())
def test_forward_into_a_view(case):
    dtype = case.types()[0]
    inputs = case.inputs(dtype)
    arrays = to_arrays(case, inputs, dtype)
    descs = dispatch.infer(case.card, tuple((a.shape, a.dtype) for a in arrays))
    shape, out_type = descs[0]
    size = int(np.prod(shape))
    whole = to_array(np.full(2 * size + 1, 77.0), out_type)
    strides = [2 * s // 8 for s in np.zeros(shape).strides]
    dispatch.invoke(case.card, arrays, [whole.view(1, shape, strides)], case.train)
    expected = case.expected(inputs, out_type)[0]
    found = to_numpy(whole)
    assert_close(found[1::2].reshape(shape), expected, out_type, case.steps, case.id)
    assert_close(found[::2], to_numpy(to_array(np.full(size + 1, 77.0), out_type)), out_type)


def test_results_do_not_depend_on_the_run():
    for case in CASES[::7]:
        arrays = to_arrays(case, case.inputs(case.types()[0]), case.types()[0])
        if case.card.mutated_inputs() or case.op.startswith(("_random_", "_sample_", "_shuffle")):
            continue  # what is drawn is new each time
        runs = [[to_numpy(o).tobytes() for o in forward(case, arrays)] for _ in range(2)]
        assert runs[0] == runs[1], case.id


def test_core_is_the_one_of_this_package():
    assert set(mx.ops.names()) >= {"exp"}
    assert isinstance(to_array([1.0], "float32"), _core.Array)
