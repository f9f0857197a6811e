"""Recurrent networks: one node of ONNX for each layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .site import Site, ints, translates

__all__: list[str] = []

GATES = {
    "lstm": (0, 3, 1, 2),  # MXNet: in, forget, cell, out; ONNX: in, out, forget, cell
    "gru": (1, 0, 2),  # MXNet: reset, update, new; ONNX: update, reset, new
    "rnn_relu": (0,),
    "rnn_tanh": (0,),
}
"""Where the gates of ONNX lie in MXNet's parameters."""


def _ordered(part: np.ndarray, mode: str) -> np.ndarray:
    """Weights or biases with their gates in ONNX's order."""
    return np.concatenate([np.split(part, len(GATES[mode]))[i] for i in GATES[mode]])


def unpack(at: Site, packed: np.ndarray, inputs: int) -> list[list[np.ndarray]]:
    """For each layer ONNX's W, R and B, with an axis of directions in front."""
    mode, size, layers = (at.attrs[n] for n in ("mode", "state_size", "num_layers"))
    ways = 2 if at.attrs["bidirectional"] else 1
    rows = len(GATES[mode]) * size
    shapes = [
        (rows, width)
        for layer in range(layers)
        for _ in range(ways)
        for width in (inputs if layer == 0 else size * ways, size)
    ]
    shapes += [(rows,)] * (2 * layers * ways)
    ends = np.cumsum([int(np.prod(s)) for s in shapes])
    pieces = np.split(packed.reshape(-1), ends)
    parts = [_ordered(p.reshape(s), mode) for p, s in zip(pieces, shapes, strict=False)]
    weights, biases = parts[: 2 * layers * ways], parts[2 * layers * ways :]
    found = []
    for layer in range(layers):
        cells = range(layer * ways, (layer + 1) * ways)
        both = [np.concatenate([biases[2 * c], biases[2 * c + 1]]) for c in cells]
        found.append(
            [
                np.stack([weights[2 * c] for c in cells]),
                np.stack([weights[2 * c + 1] for c in cells]),
                np.stack(both),
            ]
        )
    return found


def _kind(at: Site) -> tuple[str, dict[str, Any]]:
    mode = at.attrs["mode"]
    ways = 2 if at.attrs["bidirectional"] else 1
    options: dict[str, Any] = {
        "hidden_size": at.attrs["state_size"],
        "direction": "bidirectional" if ways == 2 else "forward",
    }
    if mode == "gru":
        options["linear_before_reset"] = 1
    if mode.startswith("rnn"):
        options["activations"] = [mode.removeprefix("rnn_").capitalize()] * ways
    return mode.partition("_")[0].upper(), options


@translates("RNN")
def _rnn(at: Site) -> list[str]:
    for name in ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max"):
        if at.attrs[name] is not None:
            raise at.error(f"{name}={at.attrs[name]}")
    kind, options = _kind(at)
    named = dict(zip(at.card.list_arguments(), at.inputs, strict=True))
    ways = 2 if at.attrs["bidirectional"] else 1
    lengths = named.get("sequence_length")
    if lengths is not None:
        lengths = at.cast(lengths, "int32")
    x, size = at.inputs[0], at.attrs["state_size"]
    parameters = unpack(at, at.constant(1), at.extent(2))
    last: list[list[str]] = []
    for layer, weights in enumerate(parameters):
        states = [_states(at, named[n], layer, ways) for n in ("state", "state_cell") if n in named]
        count = 1 + len(states)
        outputs = at.ops(kind, count, x, *weights, lengths, *states, **options)
        last.append(outputs[1:])
        x = at.reshape(at.transpose(outputs[0], 0, 2, 1, 3), [0, 0, ways * size])
    found = [x]
    if at.attrs["state_outputs"]:
        found += [at.op("Concat", *column, axis=0) for column in zip(*last, strict=True)]
    return found


def _states(at: Site, value: str, layer: int, ways: int) -> str:
    """Those of one layer."""
    if at.attrs["num_layers"] == 1:
        return value
    return at.op("Slice", value, ints(layer * ways), ints((layer + 1) * ways), ints(0))
