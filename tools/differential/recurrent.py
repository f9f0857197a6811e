"""Random recurrent networks."""

from __future__ import annotations

from cases import Case, Draw


def recurrent(draw: Draw) -> Case:
    """Any kind of cell, layers and directions, in prediction."""
    mode = draw.one(("rnn_relu", "rnn_tanh", "lstm", "gru"))
    hidden, layers, both = draw.int(1, 40), draw.int(1, 3), draw.maybe()
    steps, batch, features = draw.int(1, 5), draw.int(1, 20), draw.int(1, 40)
    # MXNet rounds the outputs of these to float32.
    dtype = "float32" if mode == "rnn_relu" else draw.one(("float32", "float64"))
    gates = {"lstm": 4, "gru": 3}.get(mode, 1) * hidden
    ways = 1 + both
    first = gates * (features + hidden + 2)
    count = ways * (first + (layers - 1) * gates * (ways * hidden + hidden + 2))
    state = (layers * ways, batch, hidden)
    scale = 0.15 if mode == "rnn_relu" else 0.5  # beyond which these grow, and their roundings
    inputs = [
        draw.array((steps, batch, features), dtype),
        draw.array((count + draw.maybe(0.05),), dtype, -scale, scale),
        *(draw.array(state, dtype) for _ in range(1 + (mode == "lstm"))),
    ]
    attrs = {"mode": mode, "state_size": hidden, "num_layers": layers, "bidirectional": both}
    return Case("RNN", inputs, {**attrs, "state_outputs": draw.maybe()})
