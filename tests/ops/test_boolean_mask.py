"""``boolean_mask``, whose shape depends on values, and ``getnnz`` of csr arrays."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

DATA = np.arange(12.0).reshape(4, 3)
MASKS = ([0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [-2, 0.5, float("nan"), 0])
TYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool")


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_slices_where_a_mask_is_not_zero(mask):
    found = mx.nd.contrib.boolean_mask(mx.nd.array(DATA), mx.nd.array(mask))
    np.testing.assert_array_equal(found.asnumpy(), DATA[np.array(mask) != 0])


@pytest.mark.parametrize("dtype", TYPES)
def test_data_and_masks_of_all_types(dtype):
    data, mask = mx.nd.array(DATA, dtype=dtype), mx.nd.array([0, 1, 0, 1], dtype=dtype)
    found = mx.nd.contrib.boolean_mask(data, mask)
    assert found.dtype == data.dtype
    np.testing.assert_array_equal(found.asnumpy(), data.asnumpy()[[1, 3]])


@pytest.mark.parametrize("shape", [(4,), (4, 0), (4, 2, 3)])
def test_other_shapes(shape):
    data = mx.nd.array(np.random.default_rng(0).random(shape))
    found = mx.nd.contrib.boolean_mask(data, mx.nd.array([1, 0, 0, 1]), axis=0)
    np.testing.assert_array_equal(found.asnumpy(), data.asnumpy()[[0, 3]])
    nothing = mx.nd.contrib.boolean_mask(mx.nd.zeros((0, 2)), mx.nd.zeros((0,)))
    assert nothing.shape == (0, 2)


@pytest.mark.parametrize("mask", MASKS[:3], ids=str)
def test_the_gradient_goes_back_to_the_slices(mask):
    data, index = mx.nd.array(DATA), mx.nd.array(mask)
    data.attach_grad()
    index.attach_grad()
    with mx.autograd.record():
        (mx.nd.contrib.boolean_mask(data, index) * 2).sum().backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), 2 * np.array(mask)[:, None] * np.ones(3))
    assert not index.grad.asnumpy().any()


def test_into_an_array():
    out = mx.nd.zeros((2, 3))
    data, mask = mx.nd.array(DATA), mx.nd.array([0, 1, 0, 1])
    assert mx.nd.contrib.boolean_mask(data, mask, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), DATA[[1, 3]])
    with pytest.raises(InvalidArgumentError, match=r"must be float32 \[2, 3\]"):
        mx.nd.contrib.boolean_mask(data, mask, out=mx.nd.zeros((3, 3)))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((mx.nd.zeros((4, 3)), mx.nd.zeros((3,))), r"'index' has shape \(3,\), expected \(4,\)"),
        ((mx.nd.zeros((4, 3)), mx.nd.zeros((4, 1))), r"'index' has shape \(4, 1\)"),
        ((mx.nd.zeros(()), mx.nd.zeros((1,))), "'index'"),
        ((mx.nd.zeros((4, 3)), mx.nd.zeros((3,)), 1), "axis must be 0, got 1"),
    ],
)
def test_what_does_not_fit(args, words):
    with pytest.raises(InvalidArgumentError, match=words):
        mx.nd.contrib.boolean_mask(*args)


def test_other_inputs_and_names():
    with pytest.raises(
        InvalidArgumentError, match="'index' must be an array or a symbol, got list"
    ):
        mx.nd.contrib.boolean_mask(mx.nd.zeros((2, 3)), [0, 1])
    for front in (mx.nd, mx.sym):
        assert "boolean_mask" in dir(front.contrib)


def bound(symbol, mask, **more):
    arrays = {"data": mx.nd.array(DATA), "index": mx.nd.array(mask), **more}
    grads = {name: mx.nd.ones(a.shape) for name, a in arrays.items()}
    return symbol.bind(mx.current_context(), arrays, grads, more.pop("grad_req", "write"))


def chosen(**attrs):
    return mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"), **attrs)


@pytest.mark.parametrize("monitored", [False, True])
def test_in_a_graph_each_pass_has_its_own_shape(monitored):
    run, seen = bound(chosen(name="m") * 2, MASKS[0]), []
    assert run.outputs[0].shape == (0, 3)
    if monitored:
        run.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    for mask in MASKS[:3]:
        places = np.flatnonzero(mask)
        found = run.forward(is_train=True, index=mx.nd.array(mask))[0]
        assert found is run.outputs[0] is next(iter(run.output_dict.values()))
        np.testing.assert_array_equal(found.asnumpy(), 2 * DATA[places])
        given = np.random.default_rng(0).random(found.shape).astype("float32")
        run.backward(mx.nd.array(given))
        wanted = np.zeros(DATA.shape, "float32")
        wanted[places] = 2 * given
        np.testing.assert_array_equal(run.grad_dict["data"].asnumpy(), wanted)
        assert not run.grad_dict["index"].asnumpy().any()
        if len(places) != 3:
            with pytest.raises(InvalidArgumentError, match=r"has shape \(3, 3\), expected"):
                run.backward(mx.nd.ones((3, 3)))
    assert monitored == (("m_output", (2, 3)) in seen)


def test_layers_behind_it_and_its_own_steps():
    graph = mx.sym.FullyConnected(chosen(), num_hidden=2, name="fc").sum()
    parts = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,))}
    run = bound(graph, [0, 1, 1, 0], **parts)
    total = run.outputs[0]
    assert run.partial_forward(step=0) == 2
    assert run.partial_forward(step=1) == 1
    assert run.partial_forward(step=2) == 0
    assert run.outputs[0] is total
    np.testing.assert_array_equal(total.asnumpy(), [2 * DATA[1:3].sum() + 4])
    run.forward(is_train=True, index=mx.nd.array([1, 1, 1, 1]))
    run.backward(mx.nd.ones((1,)))
    np.testing.assert_array_equal(run.grad_dict["fc_bias"].asnumpy(), [4, 4])
    np.testing.assert_array_equal(run.grad_dict["data"].asnumpy(), np.full((4, 3), 2))


def test_gradients_are_added_and_executors_made_for_shapes():
    run = chosen().bind(
        mx.current_context(),
        [mx.nd.array(DATA), mx.nd.array([0, 1, 0, 0])],
        {"data": mx.nd.ones((4, 3))},
        {"data": "add"},
    )
    run.forward(is_train=True)
    run.backward(mx.nd.ones((1, 3)))
    np.testing.assert_array_equal(run.grad_dict["data"].asnumpy()[:, 0], [1, 2, 1, 1])
    simple = chosen().simple_bind(mx.current_context(), data=(2, 3))
    assert simple.arg_dict["index"].shape == (2,)
    assert simple.forward(index=mx.nd.array([0, 1]))[0].shape == (1, 3)
    again = mx.sym.load_json(chosen().tojson())
    assert again.eval(data=mx.nd.array(DATA), index=mx.nd.ones((4,)))[0].shape == (4, 3)


def test_shapes_that_graphs_know_and_do_not():
    graph = chosen() * 2
    assert graph.infer_shape_partial(data=(4, 3)) == ([(4, 3), (4,)], [(0, 3)], [])
    with pytest.warns(UserWarning, match="do not follow"):
        assert graph.infer_shape(data=(4, 3)) == (None, None, None)
    assert graph.infer_type(data="float64", index="int32")[1] == [np.float64]
    with pytest.raises(InvalidArgumentError, match=r"'index' has shape \(3,\), expected \(4,\)"):
        chosen().simple_bind(mx.current_context(), data=(4, 3), index=(3,))
    with pytest.raises(InvalidArgumentError, match="axis must be 0, got 1"):
        chosen(axis=1)
    with pytest.raises(InvalidArgumentError, match="fc_weight"):
        mx.sym.FullyConnected(
            mx.sym.Reshape(chosen(), shape=(0, -1)), num_hidden=2, name="fc"
        ).simple_bind(mx.current_context(), index=(3,))


def test_as_a_function_of_arrays():
    data, index = mx.nd.array(DATA), mx.nd.array([0, 1, 0, 1])
    data.attach_grad()
    mask = chosen()
    run = mx.nd.CachedOp(mx.sym.Group([mask * 2, mask.get_internals()["index"]]))
    with mx.autograd.record():
        found, _ = run(data, index)
    np.testing.assert_array_equal(found.asnumpy(), 2 * DATA[[1, 3]])
    found.backward()
    np.testing.assert_array_equal(data.grad.asnumpy()[:, 0], [0, 2, 0, 2])
    out = [mx.nd.zeros((1, 3)), mx.nd.zeros((4,))]
    assert run(data, mx.nd.array([1, 0, 0, 0]), out=out) is out
    np.testing.assert_array_equal(out[0].asnumpy(), 2 * DATA[:1])


def test_bodies_of_loops_need_shapes_before_they_run():
    def body(x, state):
        return mx.sym.contrib.boolean_mask(x, x), state

    out, _ = mx.sym.contrib.foreach(body, mx.sym.var("x"), [mx.sym.var("s")])
    with pytest.raises(InvalidArgumentError, match="shape"):
        out.eval(x=mx.nd.ones((2, 3)), s=mx.nd.ones((1,)))


MATRIX = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 0, 3, 4]], np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_stored_elements_are_counted_zeros_among_them_too(axis):
    csr = mx.nd.array(MATRIX).tostype("csr")
    found = mx.nd.contrib.getnnz(csr, axis=axis)
    wanted = np.atleast_1d(np.count_nonzero(MATRIX, axis=axis))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    parts = np.array([1, 0, 5], np.float32), np.array([0, 1, 1]), np.array([0, 2, 2, 3])
    zero = mx.nd.sparse.csr_matrix(parts, shape=(3, 4))
    stored = {None: [3], 0: [1, 2, 0, 0], 1: [2, 0, 1]}[axis]
    np.testing.assert_array_equal(mx.nd.contrib.getnnz(zero, axis=axis).asnumpy(), stored)
