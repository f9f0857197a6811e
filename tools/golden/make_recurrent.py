"""Writes tests/golden/ops/rnn.npz: what MXNet 1.9.1 computes for recurrent networks, whose
parameters are one vector. Run it once with a Python that has MXNet 1.9.1.
"""

import mxnet as mx
from make_ops import Recorder


def record() -> None:
    """One case for each kind of cell, of two layers and both directions."""
    recorder = Recorder("rnn")
    for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru"):
        attrs = {"mode": mode, "state_size": 3, "num_layers": 2, "bidirectional": True}
        symbol = mx.sym.RNN(mx.sym.Variable("data"), name="rnn", **attrs)
        shapes, _, _ = symbol.infer_shape(data=(4, 2, 3))
        names = ("data", "parameters", "state", "state_cell")
        inputs = {n: recorder.normal(*s) for n, s in zip(names, shapes)}
        recorder.symbolic("RNN", attrs, inputs)
    recorder.save()


if __name__ == "__main__":
    record()
