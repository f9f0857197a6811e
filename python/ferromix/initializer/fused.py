"""Initial values of the one vector that has all parameters of the operator RNN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..error import ArgumentTypeError, InvalidArgumentError
from ..literal import brief
from ..ndarray import NDArray
from .base import InitDesc, Initializer, create, register

__all__ = ["GATES", "FusedRNN", "input_size", "packed_size", "parts"]

GATES = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}
"""What the parts of a weight are called, in their order."""


def packed_size(mode: str, inputs: int, hidden: int, layers: int, directions: int) -> int:
    """How long the vector is: for each gate of each layer two weights and two biases."""
    gates = len(GATES[mode]) * directions * hidden
    return gates * (inputs + hidden + 2 + (layers - 1) * (hidden * (1 + directions) + 2))


def input_size(mode: str, size: int, hidden: int, layers: int, directions: int) -> int:
    """How wide inputs are, from the length of the vector.

    Raises
    ------
    InvalidArgumentError
        No inputs give this length.
    """
    found = size // (len(GATES[mode]) * directions * max(hidden, 1))
    found -= hidden + 2 + (layers - 1) * (hidden * (1 + directions) + 2)
    if found < 0 or packed_size(mode, found, hidden, layers, directions) != size:
        raise InvalidArgumentError(
            f"{size} parameters are not those of {layers} layers of {hidden} units of {mode}"
        )
    return found


def parts(
    vector: NDArray, mode: str, prefix: str, inputs: int, hidden: int, layers: int, both: bool
) -> Iterator[tuple[str, NDArray]]:
    """The parameters of each gate, views of the vector, by the names that unfused cells have."""
    start, directions = 0, "lr" if both else "l"
    shapes = [
        (f"{prefix}{d}{layer}_{group}{gate}_{kind}", shape)
        for kind in ("weight", "bias")
        for layer in range(layers)
        for d in directions
        for group, width in (
            ("i2h", inputs if layer == 0 else hidden * len(directions)),
            ("h2h", hidden),
        )
        for gate in GATES[mode]
        for shape in [(hidden, width) if kind == "weight" else (hidden,)]
    ]
    for name, shape in shapes:
        end = start + shape[0] * (shape[1] if len(shape) == 2 else 1)
        yield name, vector[start:end].reshape(shape)
        start = end


@register
class FusedRNN(Initializer):
    """Sets the parameters of each gate as if they were variables of their own.

    Parameters
    ----------
    init
        What sets them; the initializer of all other parameters where None.
    num_hidden, num_layers, mode, bidirectional
        As of the operator.
    forget_bias
        The first bias of the forget gate of an LSTM.
    """

    def __init__(
        self,
        init: Initializer | str | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        self._init = create(init) if isinstance(init, str) else init
        if not isinstance(self._init, Initializer | None):
            raise ArgumentTypeError(f"FusedRNN: init must be an Initializer, got {brief(init)}")
        super().__init__(
            init=None if self._init is None else self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        given: dict[str, Any] = self._kwargs
        mode, hidden, layers = given["mode"], given["num_hidden"], given["num_layers"]
        both = given["bidirectional"]
        inputs = input_size(mode, arr.size, hidden, layers, 1 + both)
        chosen = self._init or desc.global_init
        if chosen is None:
            raise InvalidArgumentError(f"FusedRNN: no initializer for the parts of '{desc}'")
        for name, part in parts(arr, mode, "", inputs, hidden, layers, both):
            if mode == "lstm" and name.endswith("_f_bias"):
                part[:] = given["forget_bias"]
            else:
                chosen(InitDesc(name, global_init=desc.global_init), part)
