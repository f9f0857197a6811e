"""Networks over sequences with a state: unrolled, fused, in loops, and their losses."""

from .inputs import Input
from .layers import embed


def _lstm(S, x, state, width, name, params):
    """One step; the weights are those of the layer."""
    hidden, cell = state
    gates = S.FullyConnected(x, *params[:2], num_hidden=4 * width, name=f"{name}_i2h")
    gates = gates + S.FullyConnected(hidden, *params[2:], num_hidden=4 * width, name=f"{name}_h2h")
    gate = S.SliceChannel(gates, num_outputs=4, name=f"{name}_slice")
    into = S.Activation(gate[0], act_type="sigmoid") * S.Activation(gate[1], act_type="tanh")
    cell = S.Activation(gate[2], act_type="sigmoid") * cell + into
    return S.Activation(gate[3], act_type="sigmoid") * S.Activation(cell, act_type="tanh"), cell


def _layer(S, name):
    parts = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    return [S.Variable(f"{name}_{p}") for p in parts]


def _language_model(S, steps, width=5, words=7, layers=2):
    data, label = S.Variable("data"), S.Variable("softmax_label")
    x = embed(S, data, input_dim=words, output_dim=4, name="embed")
    inputs = S.SliceChannel(x, num_outputs=steps, axis=1, squeeze_axis=True, name="words")
    params = [_layer(S, f"l{i}") for i in range(layers)]
    states = [(S.Variable(f"l{i}_init_h"), S.Variable(f"l{i}_init_c")) for i in range(layers)]
    outputs = []
    for t in range(steps):
        x = inputs[t]
        for i in range(layers):
            states[i] = _lstm(S, x, states[i], width, f"t{t}_l{i}", params[i])
            x = S.Dropout(states[i][0], p=0.0)
        outputs.append(S.expand_dims(x, axis=1))
    x = S.Reshape(S.Concat(*outputs, dim=1), shape=(-1, width))
    x = S.FullyConnected(x, num_hidden=words, name="pred")
    label = S.Reshape(label, shape=(-1,))
    net = S.SoftmaxOutput(x, label, use_ignore=True, ignore_label=0, name="softmax")
    inputs = {f"l{i}_init_{s}": (3, width) for i in range(layers) for s in "hc"}
    words = Input((3, steps), words)
    return net, {"data": words, "softmax_label": words, **inputs}


def lstm_language_model(S):
    return _language_model(S, 4)


def bucket_of_2(S):
    return _language_model(S, 2, layers=1)


def bucket_of_5(S):
    """The same parameters as those of the shorter bucket."""
    return _language_model(S, 5, layers=1)


def _fused(S, mode, **kwargs):
    """Layers of many steps in one operator, words by steps."""
    x = embed(S, S.Variable("data"), input_dim=7, output_dim=4, name="embed")
    x = S.SwapAxis(x, dim1=0, dim2=1)
    states = [S.Variable("state"), S.Variable("cell")][: 2 if mode == "lstm" else 1]
    x = S.RNN(
        x, S.Variable("parameters"), *states, state_size=5, num_layers=2, mode=mode, p=0.0,
        state_outputs=True, name="rnn", **kwargs,
    )  # fmt: skip
    out = S.FullyConnected(S.Reshape(x[0], shape=(-3, -2)), num_hidden=7, name="pred")
    last = [S.BlockGrad(x[i + 1], name=f"last{i}") for i in range(len(states))]
    return S.Group([S.SoftmaxOutput(out, S.Variable("softmax_label"), name="softmax"), *last])


def _steps(label=12):
    return {"data": Input((3, 4), 7), "softmax_label": Input((label,), 7)}


def lstm_fused(S):
    net = _fused(S, "lstm", bidirectional=True)
    return net, {**_steps(), "state": (4, 3, 5), "cell": (4, 3, 5)}


def gru_fused(S):
    return _fused(S, "gru"), {**_steps(), "state": (2, 3, 5)}


def rnn_fused(S):
    return _fused(S, "rnn_tanh"), {**_steps(), "state": (2, 3, 5)}


def ctc(S):
    """Characters without places: a recurrent network over columns of an image."""
    x = S.Convolution(S.Variable("data"), num_filter=3, kernel=(3, 3), pad=(1, 1))
    x = S.Pooling(S.Activation(x, act_type="relu"), kernel=(2, 1), stride=(2, 1), pool_type="max")
    x = S.Reshape(S.transpose(x, axes=(3, 0, 1, 2)), shape=(0, 0, -1))
    x = S.RNN(x, S.Variable("parameters"), S.Variable("state"), state_size=4, num_layers=1,
              mode="rnn_relu", name="rnn")  # fmt: skip
    pred = S.FullyConnected(S.Reshape(x, shape=(-3, -2)), num_hidden=5, name="pred")
    pred = S.Reshape(pred, shape=(-4, 8, -1, 0))
    loss = S.MakeLoss(S.ctc_loss(pred, S.Variable("label")), name="ctc")
    inputs = {"data": (2, 1, 4, 8), "label": Input((2, 3), 5, 1), "state": (1, 2, 4)}
    return S.Group([loss, S.BlockGrad(S.softmax(pred, axis=2))]), inputs


def bidirectional(S):
    """Sequences of several lengths, turned around within their length, their last step taken."""
    lengths = S.Variable("lengths")
    x = S.SwapAxis(embed(S, S.Variable("data"), input_dim=6, output_dim=3), dim1=0, dim2=1)
    ways = []
    for name, turned in (("forward", False), ("backward", True)):
        y = S.SequenceReverse(x, lengths, use_sequence_length=True) if turned else x
        steps = S.SliceChannel(y, num_outputs=4, axis=0, squeeze_axis=True)
        weights, hidden, out = _layer(S, name), S.Variable(f"{name}_begin"), []
        for t in range(4):
            hidden = S.FullyConnected(steps[t], *weights[:2], num_hidden=3) + S.FullyConnected(
                hidden, *weights[2:], num_hidden=3
            )
            hidden = S.Activation(hidden, act_type="tanh")
            out.append(S.expand_dims(hidden, axis=0))
        ways.append(S.Concat(*out, dim=0))
    x = S.SequenceMask(S.Concat(*ways, dim=2), lengths, use_sequence_length=True, value=0.0)
    x = S.SequenceLast(x, lengths, use_sequence_length=True)
    net = S.SoftmaxOutput(S.FullyConnected(x, num_hidden=3), name="softmax")
    inputs = {"data": Input((3, 4), 6), "lengths": Input((3,), 5, 1)}
    inputs |= {f"{way}_begin": (3, 3) for way in ("forward", "backward")}
    return net, {**inputs, "softmax_label": Input((3,), 3)}


def loop(S):
    """A recurrent network as a loop of the graph."""
    weight, bias = S.Variable("weight"), S.Variable("bias")

    def step(x, state):
        y = S.FullyConnected(S.Concat(x, state, dim=1), weight, bias, num_hidden=4)
        y = S.tanh(y)
        return y, y

    outputs, last = S.contrib.foreach(step, S.Variable("data"), S.Variable("state"))
    net = S.Group([S.sum(S.square(outputs), axis=2), last])
    return net, {"data": (5, 2, 3), "state": (2, 4)}


def convolutional_lstm(S):
    """Gates that are convolutions."""
    steps = S.SliceChannel(S.Variable("data"), num_outputs=2, axis=1, squeeze_axis=True)
    hidden, cell = S.Variable("hidden"), S.Variable("cell")
    weights = [S.Variable(n) for n in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")]
    args = {"num_filter": 12, "kernel": (3, 3), "pad": (1, 1)}
    for t in range(2):
        gates = S.Convolution(steps[t], *weights[:2], **args)
        gates = gates + S.Convolution(hidden, *weights[2:], **args)
        gate = S.split(gates, num_outputs=4, axis=1)
        cell = S.sigmoid(gate[0]) * cell + S.sigmoid(gate[1]) * S.tanh(gate[2])
        hidden = S.sigmoid(gate[3]) * S.tanh(cell)
    return S.Group([hidden, cell]), {
        "data": (1, 2, 2, 5, 5), "hidden": (1, 3, 5, 5), "cell": (1, 3, 5, 5),
    }  # fmt: skip


NETWORKS = (
    lstm_language_model,
    bucket_of_2,
    bucket_of_5,
    lstm_fused,
    gru_fused,
    rnn_fused,
    ctc,
    bidirectional,
    loop,
    convolutional_lstm,
)
