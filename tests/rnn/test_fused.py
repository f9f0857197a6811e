"""Layers of cells as one operator: the same as the cells that they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

LENGTH, BATCH, WIDTH, UNITS = 4, 2, 3, 5


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, True)])
def test_it_gives_what_its_cells_give(mode, layers, both):
    fused = mx.rnn.FusedRNNCell(UNITS, layers, mode, both, prefix="p_", get_next_state=True)
    data = mx.sym.Variable("data")
    outputs, states = fused.unroll(LENGTH, data, layout="TNC", merge_outputs=True)
    shape = (LENGTH, BATCH, WIDTH)
    net = mx.sym.Group([outputs, *states])
    sizes = dict(zip(net.list_arguments(), net.infer_shape(data=shape)[0], strict=True))
    random = np.random.default_rng(0)
    args = {"p_parameters": mx.nd.array(random.normal(size=sizes["p_parameters"]) * 0.3)}
    x = mx.nd.array(random.normal(size=shape))
    found = net.bind(mx.cpu(), {**args, "data": x}).forward()
    cells, weights = fused.unfuse(), fused.unpack_weights(args)
    apart, _ = cells.unroll(LENGTH, data, layout="TNC", merge_outputs=True)
    own = cells.pack_weights(weights)
    expected = apart.bind(mx.cpu(), {**own, "data": x}).forward()[0].asnumpy()
    np.testing.assert_allclose(found[0].asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert [s.shape for s in found[1:]] == [(layers * (1 + both), BATCH, UNITS)] * len(states)
    packed = fused.pack_weights(weights)["p_parameters"]
    assert np.array_equal(packed.asnumpy(), args["p_parameters"].asnumpy())


def test_prediction_without_gradients_has_no_memory_for_them():
    fused = mx.rnn.FusedRNNCell(UNITS, 2, "lstm", prefix="p_", get_next_state=True)
    outputs, states = fused.unroll(
        LENGTH, mx.sym.Variable("data"), layout="TNC", merge_outputs=True
    )
    net = mx.sym.Group([outputs, *states])
    shape = (LENGTH, BATCH, WIDTH)
    alone = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
    other = net.simple_bind(mx.cpu(), grad_req="write", data=shape)
    random = np.random.default_rng(0)
    for name, array in alone.arg_dict.items():
        array[:] = random.normal(size=array.shape) * 0.3
        other.arg_dict[name][:] = array
    # Five numbers of each unit of each layer, and the outputs of the layer between.
    kept = LENGTH * BATCH * UNITS * (2 * 5 + 1) * 4
    assert alone.handle.main_program().memory.total < kept
    for found, expected in zip(alone.forward(), other.forward(is_train=False), strict=True):
        assert found.asnumpy().tobytes() == expected.asnumpy().tobytes()


@pytest.mark.parametrize(("mode", "units"), [("lstm", 256), ("gru", 1024), ("rnn_tanh", 1024)])
def test_gradients_of_rows_that_are_pages_long(mode, units):
    fused = mx.rnn.FusedRNNCell(units, 1, mode, prefix="p_")
    data = mx.sym.Variable("data")
    shape = (3, 13, 6)
    outputs, _ = fused.unroll(3, data, layout="TNC", merge_outputs=True)
    random = np.random.default_rng(0)
    sizes = dict(zip(outputs.list_arguments(), outputs.infer_shape(data=shape)[0], strict=True))
    args = {"p_parameters": mx.nd.array(random.normal(size=sizes["p_parameters"]) * 0.05)}
    x, head = (mx.nd.array(random.normal(size=s)) for s in (shape, (3, 13, units)))

    def gradients(symbol, args):
        grads = {n: mx.nd.zeros_like(a) for n, a in args.items()}
        executor = symbol.bind(mx.cpu(), args, grads)
        executor.forward(is_train=True)
        executor.backward(head)
        return grads

    found = gradients(outputs, {**args, "data": x})
    cells = fused.unfuse()
    apart, _ = cells.unroll(3, data, layout="TNC", merge_outputs=True)
    own = cells.pack_weights(fused.unpack_weights(args))
    expected = gradients(apart, {**own, "data": x})
    np.testing.assert_allclose(
        found["data"].asnumpy(), expected["data"].asnumpy(), rtol=1e-4, atol=1e-5
    )
    of_cells = fused.pack_weights(cells.unpack_weights(expected))["p_parameters"].asnumpy()
    found = found["p_parameters"].asnumpy()
    scale = np.abs(of_cells).max()
    np.testing.assert_allclose(found / scale, of_cells / scale, rtol=1e-4, atol=1e-5)


def test_gates_are_set_as_variables_of_their_own():
    fused = mx.rnn.FusedRNNCell(UNITS, 2, "lstm", forget_bias=2.0, prefix="p_")
    with pytest.warns(UserWarning, match="TNC is faster"):
        outputs, states = fused.unroll(LENGTH, mx.sym.Variable("data"), merge_outputs=True)
    assert states == []
    module = mx.mod.Module(outputs, label_names=None)
    module.bind([("data", (BATCH, LENGTH, WIDTH))])
    module.init_params(mx.init.Constant(0.5))
    parts = fused.unpack_weights(module.get_params()[0])
    for name, part in parts.items():
        value = 2.0 if name.endswith("_f_bias") else 0.0 if name.endswith("_bias") else 0.5
        assert (part.asnumpy() == value).all(), name


def test_what_is_refused():
    with pytest.raises(InvalidArgumentError, match="mode must be one of"):
        mx.rnn.FusedRNNCell(3, mode="elman")
    with pytest.raises(NotImplementedError, match="unfuse"):
        mx.rnn.FusedRNNCell(3)(mx.sym.Variable("x"), [])
    cell = mx.rnn.FusedRNNCell(3, prefix="p_")
    with pytest.raises(InvalidArgumentError, match="7 parameters are not those of 1 layers"):
        cell.unpack_weights({"p_parameters": mx.nd.ones(7)})
