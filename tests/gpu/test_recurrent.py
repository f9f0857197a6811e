"""Recurrent networks of more rows, units and depth than a block has give what the CPU gives."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

from .device import races

ROUNDING = {"float32": 2e-5, "float64": 1e-12}
BOTH = {"bidirectional": True, "state_outputs": True}
NETWORKS = {
    "blocks": ((4, 35, 9), 21, 1, {}),
    "depth": ((2, 3, 150), 140, 1, {}),
    "layers": ((5, 33, 6), 17, 3, BOTH),
    "lengths": ((6, 34, 5), 9, 2, {**BOTH, "use_sequence_length": True}),
    "one": ((1, 1, 1), 1, 1, {"state_outputs": True}),
    "no_steps": ((0, 3, 2), 4, 2, BOTH),
    "no_rows": ((3, 0, 2), 4, 2, BOTH),
    "factors": ((3, 5, 4), 7, 3, {"p": 0.4}),
}
LSTMS = {
    "projected": ((4, 37, 6), 19, 2, {**BOTH, "projection_size": 11}),
    "projected_lengths": ((5, 4, 3), 10, 1, {"projection_size": 9, "use_sequence_length": True}),
    "clipped": (
        (4, 5, 3),
        6,
        2,
        {"lstm_state_clip_min": -0.1, "lstm_state_clip_max": 0.2, "lstm_state_clip_nan": True},
    ),
}
MODES = ["rnn_relu", "rnn_tanh", "lstm", "gru"]
CASES = [
    *((mode, name, "float32") for mode in ("lstm", "gru") for name in NETWORKS),
    *(("lstm", name, "float32") for name in LSTMS),
    *((mode, "layers", "float64") for mode in MODES),
    *((mode, "lengths", "float64") for mode in MODES),
]


def network(mode, name):
    """The symbol, and a value for each of its arguments."""
    shape, hidden, layers, attrs = {**NETWORKS, **LSTMS}[name]
    inputs = [mx.sym.Variable(n) for n in ("data", "parameters", "state")]
    if mode == "lstm":
        inputs.append(mx.sym.Variable("state_cell"))
    if attrs.get("use_sequence_length"):
        inputs.append(mx.sym.Variable("sequence_length"))
    net = mx.sym.RNN(*inputs, mode=mode, state_size=hidden, num_layers=layers, **attrs)
    with mx.util.np_shape():
        shapes, _, _ = net.infer_shape(data=shape)
    random = np.random.default_rng(11)
    values = {
        n: random.standard_normal(s) / 4 for n, s in zip(net.list_arguments(), shapes, strict=True)
    }
    if "sequence_length" in values:
        values["sequence_length"] = random.integers(0, shape[0] + 1, shape[1])
    return net, values


def trained(context, net, values, dtype, req):
    """Outputs and gradients of the third of three runs, which a GPU has from a graph."""
    arrays = {n: mx.nd.array(v, context, dtype) for n, v in values.items()}
    grads = {
        n: mx.nd.ones(a.shape, context, dtype)
        for n, a in arrays.items()
        if n != "sequence_length" and not (req == "some" and n in ("data", "state"))
    }
    executor = net.bind(context, arrays, grads, "add" if req == "some" else req)
    for _ in range(3):
        mx.random.seed(7)
        outputs = executor.forward(is_train=True)
        random = np.random.default_rng(5)
        heads = [mx.nd.array(random.standard_normal(o.shape), context, dtype) for o in outputs]
        executor.backward(heads)
    return [x.asnumpy() for x in (*outputs, *grads.values())]


@pytest.mark.parametrize(("mode", "name", "dtype"), CASES)
def test_training(mode, name, dtype):
    net, values = network(mode, name)
    for req in ("write", "some"):
        with mx.util.np_shape():
            found, expected = [trained(c, net, values, dtype, req) for c in (mx.gpu(0), mx.cpu())]
        for a, b in zip(found, expected, strict=True):
            scale = max(1.0, np.abs(b).max(initial=0))
            np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING[dtype] * scale)
    assert races() == ""


@pytest.mark.parametrize("mode", MODES)
def test_prediction(mode):
    """Nothing is kept, and outputs of layers take turns in temporary memory."""
    net, values = network(mode, "layers")
    results = []
    for context in (mx.gpu(0), mx.cpu()):
        arrays = {n: mx.nd.array(v, context) for n, v in values.items()}
        executor = net.bind(context, arrays, grad_req="null")
        results.append([x.asnumpy() for x in executor.forward()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5)
    assert races() == ""


@pytest.mark.parametrize("far", [-3, 99])
def test_lengths_that_there_cannot_be(far):
    net, values = network("gru", "lengths")
    arrays = {n: mx.nd.array(v, mx.gpu(0)) for n, v in values.items()}
    arrays["sequence_length"] = mx.nd.array(np.where(np.arange(34) == 7, far, 2), mx.gpu(0))
    with pytest.raises(InvalidArgumentError, match=f"sequence_length .* got {far}"):
        net.bind(mx.gpu(0), arrays).forward()[0].wait_to_read()
