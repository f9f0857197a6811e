"""Recurrent networks: their definition, one step of one sequence at a time."""

import numpy as np

from ..case import Case, Refused


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, u, v, h, c):
    """The new output and cell state from both sums of a cell's gates."""
    if mode == "rnn_relu":
        return np.maximum(u + v, 0), c
    if mode == "rnn_tanh":
        return np.tanh(u + v), c
    if mode == "lstm":
        i, f, g, o = np.split(u + v, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    (ur, uz, un), (vr, vz, vn) = np.split(u, 3), np.split(v, 3)
    r, z = sigmoid(ur + vr), sigmoid(uz + vz)
    return (1 - z) * np.tanh(un + r * vn) + z * h, c


def pieces(vector, *shapes):
    """Matrices that stand one after another in `vector`, and the rest."""
    found = []
    for shape in shapes:
        size = int(np.prod(shape))
        found.append(vector[:size].reshape(shape))
        vector = vector[size:]
    return *found, vector


def network(mode, state_size, num_layers, bidirectional=False, **attrs):
    gates = {"lstm": 4, "gru": 3}.get(mode, 1) * state_size
    projection, ways = attrs.get("projection_size"), 1 + bidirectional
    size = projection or state_size
    low, high = attrs.get("lstm_state_clip_min"), attrs.get("lstm_state_clip_max")

    def oracle(data, parameters, state, *rest):
        cells = rest[0] if mode == "lstm" else np.zeros_like(state)
        lengths = rest[-1] if attrs.get("use_sequence_length") else [len(data)] * data.shape[1]
        weights, x, last, last_cells = [], data, [], []
        for layer in range(num_layers):
            for _ in range(ways):
                width = ways * size if layer else data.shape[2]
                shapes = [(gates, width), (gates, size), *[(size, state_size)] * bool(projection)]
                *found, parameters = pieces(parameters, *shapes)
                weights.append(found)
        for layer in range(num_layers):
            y = np.zeros((*data.shape[:2], ways * size))
            for way in range(ways):
                w, r, *p = weights[layer * ways + way]
                b, d, parameters = pieces(parameters, (gates,), (gates,))
                h, c = state[layer * ways + way].copy(), cells[layer * ways + way].copy()
                for row, length in enumerate(lengths):
                    times = range(int(length))
                    for t in reversed(times) if way else times:
                        u, v = w @ x[t, row] + b, r @ h[row] + d
                        new, c[row] = step(mode, u, v, h[row], c[row])
                        if low is not None:
                            c[row] = np.clip(c[row], low, high)
                            new = sigmoid(np.split(u + v, 4)[3]) * np.tanh(c[row])
                        h[row] = p[0] @ new if projection else new
                        y[t, row, way * size : (way + 1) * size] = h[row]
                last.append(h)
                last_cells.append(c)
            x = y
        if not attrs.get("state_outputs"):
            return x
        found = [x, np.stack(last)]
        return [*found, np.stack(last_cells)] if mode == "lstm" else found

    return oracle


def case(mode, sizes, layers=1, weights="normal", **attrs):
    steps, batch, features, hidden = sizes
    ways, size = 1 + attrs.get("bidirectional", False), attrs.get("projection_size") or hidden
    gates = {"lstm": 4, "gru": 3}.get(mode, 1) * hidden
    rest = gates * (size + 2) + (hidden * size if size != hidden else 0)
    count = ways * (gates * features + rest + (layers - 1) * (gates * ways * size + rest))
    shapes = [(steps, batch, features), (count,), (layers * ways, batch, size)]
    shapes += [(layers * ways, batch, hidden)] * (mode == "lstm")
    domains, mixed, fixed = ["normal"] * len(shapes), [None] * len(shapes), ()
    domains[1] = weights
    if attrs.get("use_sequence_length"):
        shapes.append((batch,))
        domains.append("below3")
        mixed.append("int32")
        fixed = ("sequence_length",)
    attrs = {"mode": mode, "state_size": hidden, "num_layers": layers, **attrs}
    heads = 1 + attrs.get("state_outputs", False) * (1 + (mode == "lstm"))
    return Case(
        "RNN",
        network(**attrs),
        tuple(shapes),
        attrs,
        tuple(domains),
        steps=100,
        heads=heads,
        fixed=fixed,
        mixed=tuple(mixed) if fixed else (),
        orders=1,
        smooth=mode != "rnn_relu",
    )


LENGTHS = {"use_sequence_length": True, "state_outputs": True, "bidirectional": True}
CASES = [
    *(
        case(mode, (3, 2, 2, 3), 2, bidirectional=True, state_outputs=True)
        for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru")
    ),
    *(case(mode, (2, 3, 1, 2), **LENGTHS) for mode in ("rnn_tanh", "lstm", "gru")),
    case("rnn_relu", (4, 1, 3, 2)),
    case("lstm", (2, 3, 3, 1), 3),
    case("lstm", (3, 2, 2, 3), 2, projection_size=2, bidirectional=True, state_outputs=True),
    case("lstm", (2, 3, 2, 3), projection_size=1, **LENGTHS),
    case("lstm", (3, 2, 2, 2), lstm_state_clip_min=-0.5, lstm_state_clip_max=0.25),
    case("gru", (1, 14, 2, 35)),
    # So many rows of inputs are multiplied by weights that are packed.
    case("lstm", (2, 13, 33, 16)),
    # So many units are multiplied by tiles of four vectors, of single and of double precision.
    case("lstm", (2, 9, 2, 256), weights="weights"),
    case("gru", (2, 8, 1, 128), weights="weights", bidirectional=True),
    case("lstm", (2, 8, 1, 128), weights="weights", projection_size=256),
    case("lstm", (0, 2, 3, 2), state_outputs=True),
    case("gru", (2, 0, 3, 2), bidirectional=True),
    case("rnn_tanh", (2, 2, 0, 2)),
]
ONE = {"mode": "gru", "state_size": 2, "num_layers": 1}
REFUSED = [
    Refused("RNN", ("'data'", "3 dimensions"), ((2, 3), (30,), (1, 3, 2)), ONE),
    Refused("RNN", ("'parameters'", "(29,)", "(36,)"), ((2, 3, 2), (29,), (1, 3, 2)), ONE),
    Refused("RNN", ("'state'", "(1, 1, 2)"), ((2, 3, 2), (36,), (1, 1, 2)), ONE),
    Refused("RNN", ("mode", "'lstm'"), None, {**ONE, "mode": "LSTM"}),
    Refused("RNN", ("projection_size", "'gru'"), None, {**ONE, "projection_size": 1}),
    Refused("RNN", ("state_size", ">= 1"), None, {**ONE, "state_size": 0}),
]
