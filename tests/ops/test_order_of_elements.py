"""What tables of cases cannot say of indices and orders: values outside, NaN, names, methods."""

from contextlib import suppress

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import IndexOutOfBoundsError, InvalidArgumentError
from ferromix.ops.card import make

FLOATS = ("float16", "float32", "float64")
FAR = (-(2**62), -5, -1, 3, 7, 2**62)


def rows():
    return mx.nd.array([[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_indices_far_outside_stay_within_the_axis(mode):
    index = mx.nd.array(np.array(FAR), dtype="int64")
    places = np.clip(FAR, 0, 2) if mode == "clip" else np.array([f % 3 for f in FAR])
    found = rows().take(index, mode=mode).asnumpy()
    np.testing.assert_array_equal(found, rows().asnumpy()[places])
    lines = mx.nd.array(np.arange(18).reshape(6, 3))
    found = lines.pick(index, mode=mode).asnumpy()
    np.testing.assert_array_equal(found, lines.asnumpy()[np.arange(6), places])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_indices_that_are_no_numbers_take_some_element(dtype, mode):
    index = mx.nd.array([np.nan, np.inf, -np.inf], dtype=dtype)
    found = rows().take(index, mode=mode).asnumpy()
    assert set(map(tuple, found)) <= set(map(tuple, rows().asnumpy()))
    assert set(mx.nd.pick(rows(), index, mode=mode).asnumpy()) <= {1, 2, 3, 4, 5, 6}
    assert not mx.nd.one_hot(index, 3).asnumpy().any()
    filled = mx.nd.fill_element_0index(rows(), mx.nd.ones((3,), dtype="float32"), index)
    np.testing.assert_array_equal(filled.asnumpy(), rows().asnumpy())


@pytest.mark.parametrize("far", [-1, 3, 2**40, np.nan])
def test_what_raises_names_index_and_axis(far):
    index = mx.nd.array([0, far], dtype="float64")
    word = "-9223372036854775808" if np.isnan(far) else str(far)
    with pytest.raises(IndexOutOfBoundsError, match=f"take: index {word} .* axis 0 with size 3"):
        rows().take(index, mode="raise").wait_to_read()
    with pytest.raises(IndexError, match="axis 1 with size 2"):
        rows().take(mx.nd.array([2]), axis=1, mode="raise").wait_to_read()


@pytest.mark.parametrize("far", [-4, 3, 2**40])
def test_gathering_and_scattering_refuse_indices_outside(far):
    index = mx.nd.array([[0, far]], dtype="int64")
    word = f"index {far} is out of bounds for axis 0 with size 3"
    data = mx.nd.ones((2, 2))
    shape = {"shape": (3, 2)}
    for run in (
        lambda: mx.nd.gather_nd(rows(), index),
        lambda: mx.nd.scatter_nd(data, index, **shape),
        lambda: mx.nd._internal._backward_gather_nd(data, index, **shape),
        lambda: mx.nd._internal._scatter_set_nd(rows(), data, index, **shape),
    ):
        with pytest.raises(IndexError, match=word):
            run().wait_to_read()
    with pytest.raises(IndexError, match="axis 1 with size 0"):
        mx.nd.gather_nd(mx.nd.zeros((2, 0)), mx.nd.zeros((2, 1))).wait_to_read()


def test_gradients_refuse_what_running_did():
    data = rows()
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.gather_nd(data, mx.nd.array([[9]]))
    with pytest.raises(IndexError, match="index 9"):
        mx.autograd.grad(out, data)[0].wait_to_read()
    # A GPU tells of both.
    with suppress(IndexError):
        mx.nd.waitall()


def test_assigning_in_place():
    data = rows()
    indices = mx.nd.array([[0, 2], [1, -2]])
    values = mx.nd.array([7, 8])
    mx.nd._internal._scatter_set_nd(data, values, indices, shape=data.shape, out=data)
    np.testing.assert_array_equal(data.asnumpy(), [[1, 7], [3, 4], [8, 6]])
    mx.nd.fill_element_0index(data, mx.nd.zeros((3,)), mx.nd.array([0, 1, 2]), out=data)
    np.testing.assert_array_equal(data.asnumpy(), [[0, 7], [3, 0], [8, 6]])


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16"])
def test_nan_counts_as_greatest_and_zeros_as_equal(dtype):
    values = np.array([2, np.nan, 1, np.nan, -np.inf, np.inf, 3, -0.0, 0.0])
    data = mx.nd.array(values, dtype=dtype)
    up = [4, 7, 8, 2, 0, 6, 5, 1, 3]
    down = [1, 3, 5, 6, 0, 2, 7, 8, 4]
    assert data.argsort().asnumpy().tolist() == up
    assert data.argsort(is_ascend=False).asnumpy().tolist() == down
    np.testing.assert_array_equal(data.sort().asnumpy(), values[up])
    np.testing.assert_array_equal(np.signbit(data.sort().asnumpy()), np.signbit(values[up]))
    for k in (1, 4, 9):
        assert data.topk(k=k).asnumpy().tolist() == down[:k]
        assert data.topk(k=k, is_ascend=True).asnumpy().tolist() == up[:k]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_extreme_integers_are_in_order(dtype):
    info = np.iinfo(dtype)
    values = np.array([0, info.max, info.min, 1, info.max - 1, info.min + 1], dtype)
    found = mx.nd.array(values, dtype=dtype).sort()
    np.testing.assert_array_equal(found.asnumpy(), np.sort(values))
    found = mx.nd.array(values, dtype=dtype).sort(is_ascend=False)
    np.testing.assert_array_equal(found.asnumpy(), np.sort(values)[::-1])


def test_large_doubles_apart_in_the_last_place_are_told_apart():
    values = np.nextafter(1e300, [0, np.inf, 0])
    data = mx.nd.array(values, dtype="float64")
    assert data.argsort().asnumpy().tolist() == [0, 2, 1]


@pytest.mark.parametrize("shape", [(3, 70000), (70001,), (130, 90)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_orders_are_those_of_any_number_of_threads(shape, dtype):
    values = np.random.default_rng(1).integers(0, 50, shape)
    data = mx.nd.array(values, dtype=dtype)
    expected = np.argsort(values, -1, kind="stable")
    for threads in (1, 2):
        with mx.engine.threads(threads):
            np.testing.assert_array_equal(data.argsort(dtype="int64").asnumpy(), expected)
            found = data.topk(k=70, is_ascend=True, dtype="int64").asnumpy()
        np.testing.assert_array_equal(found, expected[..., :70])


def test_methods_of_arrays_and_symbols_are_the_functions():
    data = mx.nd.array([[3, 1, 2], [0, 5, 4]])
    index = mx.nd.array([1, 0])
    x, i = mx.sym.var("x"), mx.sym.var("i")
    for array, symbol in [
        (data.take(index, axis=1, mode="wrap"), x.take(i, axis=1, mode="wrap")),
        (data.pick(index, keepdims=True), x.pick(i, keepdims=True)),
        (data.sort(axis=0, is_ascend=False), x.sort(axis=0, is_ascend=False)),
        (data.argsort(axis=None), x.argsort(axis=None)),
        (data.topk(k=2, ret_typ="mask"), x.topk(k=2, ret_typ="mask")),
        (index.one_hot(4, on_value=2), i.one_hot(depth=4, on_value=2)),
        (mx.nd.choose_element_0index(data, index), mx.sym.choose_element_0index(x, i)),
    ]:
        given = {"x": data, "i": index}
        given = {n: given[n] for n in symbol.list_arguments()}
        (found,) = symbol.bind(mx.cpu(), given).forward()
        np.testing.assert_array_equal(found.asnumpy(), array.asnumpy())


def test_names_of_outputs():
    x = mx.sym.var("x")
    both = mx.sym.topk(x, k=2, ret_typ="both", name="a")
    assert both.list_outputs() == ["a_output0", "a_output1"]
    assert mx.sym.sort(x, name="a").list_outputs() == ["a_output0"]
    assert mx.sym.argsort(x, name="a").list_outputs() == ["a_output"]
    assert mx.sym.topk(x, name="a").list_outputs() == ["a_output"]
    arguments, outputs, _ = both.infer_shape(x=(3, 4))
    assert (arguments, outputs) == ([(3, 4)], [(3, 2), (3, 2)])


def test_slices_that_were_taken_twice_add_up():
    data = rows()
    data.attach_grad("add")
    for _ in range(2):
        with mx.autograd.record():
            out = data.take(mx.nd.array([0, 0, 2, 9]))
        out.backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), [[4, 4], [0, 0], [4, 4]])


def test_k_for_an_axis_that_is_not_known_yet_is_refused_when_it_is():
    x = mx.sym.topk(mx.sym.var("x"), k=5)
    assert x.infer_shape_partial(x=(3, 0))[1] == [(3, 5)]
    with pytest.raises(InvalidArgumentError, match="at most 4"):
        x.infer_shape(x=(3, 4))


def test_broadcast_like_takes_other():
    data = mx.nd.array([[1], [2]])
    out = data.broadcast_like(other=mx.nd.zeros((2, 3)))
    np.testing.assert_array_equal(out.asnumpy(), [[1, 1, 1], [2, 2, 2]])
    out = data.broadcast_like(mx.nd.zeros((4, 7)), lhs_axes=(1,), rhs_axes=(0,))
    assert out.shape == (2, 4)


@pytest.mark.parametrize("op", ["scatter_nd", "_backward_gather_nd"])
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([(3,), None], [(3,), (2, 3)]),
        ([(3,), (-1, -1)], [(3,), (2, 3)]),
        ([None, (1, 4)], [(4, 6), (1, 4)]),
        ([(9, 6), (-1, 9)], [(9, 6), (1, 9)]),
        ([(9, 6), (-1, -1, -1)], [(9, 6), (2, 9, 6)]),
        ([(9, 6), None], [(9, 6), None]),
        ([None, (-1, 4)], [None, (-1, 4)]),
    ],
    ids=str,
)
def test_slices_and_indices_follow_from_each_other_where_only_one_shape_is_possible(
    op, given, found
):
    assert make(op, {"shape": (5, 6)}).infer_shape(given)[:2] == (found, [(5, 6)])


def test_the_type_of_what_is_chosen_follows_from_that_of_the_output():
    for op in ("take", "pick", "batch_take", "gather_nd"):
        card = make(op, {})
        assert card.infer_type_backward([None, "int32"], ["float64"]) == ["float64", "int32"]
    assert make("batch_take", {}).infer_type(["float16", None])[0] == ["float16", "int32"]
    card = make("scatter_nd", {"shape": (2,)})
    assert card.infer_type_backward([None, "int8"], ["float16"]) == ["float16", "int8"]
