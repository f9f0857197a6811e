"""Recurrent cells: the graphs of MXNet 1.9.1, and the values of their formulas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from graphs import both_ways, graphs, stack

import ferromix as mx
from ferromix.error import InvalidArgumentError

GOLDEN = json.loads((Path(__file__).resolve().parent.parent / "golden" / "rnn.json").read_text())
FOUND = graphs(mx)


@pytest.mark.parametrize("name", list(GOLDEN))
def test_graphs_are_those_of_mxnet(name):
    assert FOUND[name] == GOLDEN[name]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(x, h, c, w):
    h = np.tanh(x @ w["i2h_weight"].T + w["i2h_bias"] + h @ w["h2h_weight"].T + w["h2h_bias"])
    return h, c


def lstm(x, h, c, w):
    gates = x @ w["i2h_weight"].T + w["i2h_bias"] + h @ w["h2h_weight"].T + w["h2h_bias"]
    i, f, g, o = np.split(gates, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, c, w):
    a = np.split(x @ w["i2h_weight"].T + w["i2h_bias"], 3, axis=1)
    b = np.split(h @ w["h2h_weight"].T + w["h2h_bias"], 3, axis=1)
    r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
    return (1 - z) * np.tanh(a[2] + r * b[2]) + z * h, c


@pytest.mark.parametrize(
    ("kind", "step", "gates"), [("RNNCell", rnn, 1), ("LSTMCell", lstm, 4), ("GRUCell", gru, 3)]
)
def test_values_are_those_of_single_steps(kind, step, gates):
    random, batch, length, width, size = np.random.default_rng(0), 2, 4, 3, 5
    shapes = {"i2h_weight": (gates * size, width), "h2h_weight": (gates * size, size)}
    shapes |= {"i2h_bias": (gates * size,), "h2h_bias": (gates * size,)}
    weights = {name: random.normal(size=shape) for name, shape in shapes.items()}
    data = random.normal(size=(batch, length, width))
    cell = getattr(mx.rnn, kind)(size, prefix="p_")
    outputs, states = cell.unroll(length, mx.sym.Variable("data"), merge_outputs=True)
    net = mx.sym.Group([outputs, *states])
    arrays = {f"p_{name}": mx.nd.array(value) for name, value in weights.items()}
    arrays["data"] = mx.nd.array(data)
    found = [out.asnumpy() for out in net.bind(mx.cpu(), arrays).forward()]
    h = c = np.zeros((batch, size))
    for t in range(length):
        h, c = step(data[:, t], h, c, weights)
        np.testing.assert_allclose(found[0][:, t], h, rtol=1e-4, atol=1e-6)
    for got, expected in zip(found[1:], (h, c), strict=False):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", [stack, both_ways])
def test_weights_are_unpacked_and_packed_again(make):
    cell = make(mx)
    outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    shapes = dict(
        zip(outputs.list_arguments(), outputs.infer_shape(data=(1, 2, 4))[0], strict=True)
    )
    random = np.random.default_rng(1)
    args = {n: mx.nd.array(random.normal(size=s)) for n, s in shapes.items() if n != "data"}
    apart = cell.unpack_weights(args)
    name = "l0_" if make is stack else "l_"
    forget = args[f"{name}i2h_weight"].asnumpy()[4:8]
    assert np.array_equal(apart[f"{name}i2h_f_weight"].asnumpy(), forget)
    together = cell.pack_weights(apart)
    assert set(together) == set(args)
    for key, value in args.items():
        assert np.array_equal(together[key].asnumpy(), value.asnumpy())


def test_checkpoints_have_each_gate_by_itself(tmp_path):
    cell = mx.rnn.LSTMCell(2, prefix="p_")
    net, _ = cell.unroll(1, mx.sym.Variable("data"), merge_outputs=True)
    args = {"p_i2h_weight": mx.nd.array(np.arange(24).reshape(8, 3)), "p_i2h_bias": mx.nd.ones(8)}
    args |= {"p_h2h_weight": mx.nd.ones((8, 2)), "p_h2h_bias": mx.nd.zeros(8)}
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(cell, prefix, 2)(1, net, args, {})
    assert not (tmp_path / "net-0001.params").exists()
    assert "arg:p_i2h_f_weight" in mx.nd.load(f"{prefix}-0002.params")
    symbol, loaded, auxs = mx.rnn.load_rnn_checkpoint(cell, prefix, 2)
    assert symbol.list_outputs() == net.list_outputs()
    assert auxs == {}
    for name, value in args.items():
        assert np.array_equal(loaded[name].asnumpy(), value.asnumpy())


@pytest.mark.parametrize(
    ("cell", "names"),
    # What MXNet 1.9.1 gives, tuples and lists.
    [
        (lambda: mx.rnn.RNNCell(2), ("",)),
        (lambda: mx.rnn.LSTMCell(2), ["_i", "_f", "_c", "_o"]),
        (lambda: mx.rnn.GRUCell(2), ["_r", "_z", "_o"]),
        (lambda: mx.rnn.FusedRNNCell(2, mode="lstm"), ["_i", "_f", "_c", "_o"]),
        (lambda: mx.rnn.FusedRNNCell(2, mode="rnn_relu"), [""]),
        (lambda: mx.rnn.ConvRNNCell((1, 3, 8, 8), 2), ("",)),
        (lambda: mx.rnn.ConvLSTMCell((1, 3, 8, 8), 2), ["_i", "_f", "_c", "_o"]),
        (lambda: mx.rnn.ConvGRUCell((1, 3, 8, 8), 2), ["_r", "_z", "_o"]),
        (lambda: mx.rnn.DropoutCell(0.5), ()),
    ],
)
def test_names_of_gates(cell, names):
    assert cell()._gate_names == names


def test_shared_parameters_are_one_variable():
    first = mx.rnn.RNNCell(3, prefix="a_")
    second = mx.rnn.RNNCell(3, prefix="b_", params=first.params)
    one, _ = first.unroll(1, [mx.sym.Variable("x")])
    two, _ = second.unroll(1, [mx.sym.Variable("x")])
    names = mx.sym.Group([*one, *two]).list_arguments()
    assert sorted(set(names)) == ["a_h2h_bias", "a_h2h_weight", "a_i2h_bias", "a_i2h_weight", "x"]
    assert len(names) == 6  # the two inputs are variables of their own


def test_a_cell_that_modifies_another_hands_on_what_makes_its_states():
    cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3, prefix="l_"), 0.1, 0.1)
    states = cell.begin_state(init_sym=mx.sym.Variable)
    assert [s.list_arguments() for s in states] == [["l_begin_state_0"], ["l_begin_state_1"]]


def test_what_cannot_be():
    with pytest.raises(NotImplementedError, match="use unroll"):
        both_ways(mx)(mx.sym.Variable("x"), [])
    with pytest.raises(InvalidArgumentError, match="cannot change a BidirectionalCell"):
        mx.rnn.ZoneoutCell(both_ways(mx))
    base = mx.rnn.RNNCell(3)
    mx.rnn.ResidualCell(base)
    with pytest.raises(InvalidArgumentError, match="another cell modifies"):
        base.begin_state()
    with pytest.raises(InvalidArgumentError, match="2 inputs for 3 steps"):
        mx.rnn.RNNCell(3).unroll(3, [mx.sym.Variable("x")] * 2)
    with pytest.raises(InvalidArgumentError, match="h2h_kernel must be odd"):
        mx.rnn.ConvRNNCell((1, 3, 8, 8), 4, h2h_kernel=(2, 2))
    with pytest.raises(InvalidArgumentError, match="dropout must be a number"):
        mx.rnn.DropoutCell("half")


@pytest.mark.parametrize("kind", ["ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"])
def test_channels_last(kind):
    """The cell with the same weights, and channels first, of turned data."""
    random = np.random.default_rng(2)
    shapes, found = {"NCHW": (2, 3, 6, 5), "NHWC": (2, 6, 5, 3)}, {}
    values = {}
    for layout, shape in shapes.items():
        cell = getattr(mx.rnn, kind)(shape, 4, prefix="c_", conv_layout=layout)
        outputs, _ = cell.unroll(2, [mx.sym.Variable("a"), mx.sym.Variable("b")])
        net = mx.sym.Group(outputs) if isinstance(outputs, list) else outputs
        arguments, _, _ = net.infer_shape(a=shape, b=shape)
        arrays = {}
        for name, size in zip(net.list_arguments(), arguments, strict=True):
            last = layout == "NHWC" and len(size) == 4
            if name not in values:
                values[name] = random.normal(size=size)
            arrays[name] = mx.nd.array(values[name].transpose(0, 2, 3, 1) if last else values[name])
        found[layout] = [out.asnumpy() for out in net.bind(mx.cpu(), arrays).forward()]
    for first, last in zip(*found.values(), strict=True):
        np.testing.assert_allclose(last.transpose(0, 3, 1, 2), first, rtol=1e-4, atol=1e-5)
