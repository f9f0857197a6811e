"""Recurrent networks: a node of ONNX is a layer of MXNet's operator."""

from __future__ import annotations

import numpy as np

from ...symbol import Symbol
from .use import Use, reads

__all__: list[str] = []

_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
"""Where MXNet's gates lie in ONNX's parameters: in, forget, cell, out; reset, update, new."""
_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


@reads("LSTM", "GRU", "RNN")
def _rnn(at: Use) -> list[Symbol]:
    ways = _checked(at)
    size = at.attrs["hidden_size"]
    x = at.symbol()
    backwards = at.attrs.get("direction", "forward") == "reverse"
    lengths = [at.symbol(4)] if at.has(4) else []
    if backwards:
        x = _reversed(at, x, lengths)
    weights = at.parameter(1, _packed(at, ways, size))
    states = [_state(at, i, ways, size) for i in range(5, 7 if at.kind == "LSTM" else 6)]
    found = list(
        at.last(
            "RNN",
            *(x, weights, *states, *lengths),
            mode=_mode(at),
            state_size=size,
            num_layers=1,
            bidirectional=ways == 2,
            state_outputs=True,
            use_sequence_length=bool(lengths),
        )
    )
    y = _reversed(at, found[0], lengths) if backwards else found[0]
    apart = at.op("Reshape", y, shape=(0, 0, -4, ways, size))
    return [at.op("transpose", apart, axes=(0, 2, 1, 3)), *found[1:]]


def _checked(at: Use) -> int:
    """The number of directions; an error for what MXNet's operator cannot do."""
    at.require(layout=0, input_forget=0)
    if "clip" in at.attrs:
        raise at.error("clip")
    if at.has(7):
        raise at.error("peepholes")
    direction = at.attrs.get("direction", "forward")
    ways = 2 if direction == "bidirectional" else 1
    if at.kind == "GRU" and not at.attrs.get("linear_before_reset", 0):
        raise at.error("linear_before_reset=0; MXNet's cell resets after the product")
    usual = _USUAL[at.kind] * ways
    given = [a.capitalize() for a in at.attrs.get("activations", usual)]
    if given != usual and not (at.kind == "RNN" and given == ["Relu"] * ways):
        raise at.error(f"activations={given}")
    return ways


def _mode(at: Use) -> str:
    if at.kind != "RNN":
        return at.kind.lower()
    kinds = {a.lower() for a in at.attrs.get("activations", ["Tanh"])}
    return f"rnn_{kinds.pop()}"


def _packed(at: Use, ways: int, size: int) -> np.ndarray:
    """ONNX's W, R and B in one vector: the weights of both directions, then the biases."""
    weights, recurrent = at.constant(1), at.constant(2)
    gates = _GATES[at.kind]
    rows = len(gates) * size
    bias = at.constant(3) if at.has(3) else np.zeros((ways, 2 * rows), weights.dtype)
    if weights.shape[:2] != (ways, rows) or recurrent.shape != (ways, rows, size):
        raise at.error(f"weights of shapes {weights.shape} and {recurrent.shape}")

    def ordered(part: np.ndarray) -> np.ndarray:
        return np.concatenate([np.split(part, len(gates))[i] for i in gates]).reshape(-1)

    matrices = [ordered(part[way]) for way in range(ways) for part in (weights, recurrent)]
    biases = [ordered(part) for way in range(ways) for part in np.split(bias[way], 2)]
    return np.concatenate([*matrices, *biases])


def _state(at: Use, i: int, ways: int, size: int) -> Symbol:
    """The state to start from; zeros where it is not given."""
    if at.has(i):
        return at.symbol(i)
    one = at.op("slice_axis", at.symbol(), axis=0, begin=0, end=1)
    one = at.op("zeros_like", at.op("slice_axis", one, axis=2, begin=0, end=1))
    return at.op("tile", one, reps=(ways, 1, size))


def _reversed(at: Use, x: Symbol, lengths: list[Symbol]) -> Symbol:
    return at.op("SequenceReverse", x, *lengths, use_sequence_length=bool(lengths))
