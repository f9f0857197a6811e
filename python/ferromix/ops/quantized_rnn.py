"""Recurrent networks of data in eight bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Claims, MaybeShape, merge_shapes, register
from .composed import Composed
from .family import Types
from .param import Params
from .rnn import RNN
from .term import Term

__all__ = ["QuantizedRNN"]

_ENDS = ("data_scale", "data_shift")


@register
class QuantizedRNN(Composed):
    """An LSTM of data in eight bits, for prediction.

    Formula: that of `RNN` in mode ``lstm`` for ``(data - data_shift) / data_scale``. Parameters and
    states are real numbers and stay so; MXNet rounds them to eight bits inside.
    Shapes: those of `RNN`; ``data_scale`` and ``data_shift`` are ``(1,)``. Types: ``data`` is
    uint8, all others are float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, state = mx.nd.array([[[2]], [[4]]], dtype="uint8"), mx.nd.zeros((1, 1, 1))
    >>> weights, attrs = mx.nd.ones((16,)), {"state_size": 1, "num_layers": 1, "mode": "lstm"}
    >>> ends = [mx.nd.array([2]), mx.nd.array([0])]
    >>> print(mx.nd.contrib.quantized_rnn(data, weights, state, state, *ends, **attrs).asnumpy())
    [[[0.70377535]]
    <BLANKLINE>
     [[0.95014113]]]
    """

    name = "_contrib_quantized_rnn"
    arguments = ("data", "parameters", "state", "state_cell", *_ENDS)
    dtypes: ClassVar[tuple[str, ...]] = ("float32",)
    argument_dtypes: ClassVar[Claims] = {"data": ("uint8",)}
    params: ClassVar[Params] = RNN.params

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["mode"] != "lstm" or self.attrs["use_sequence_length"]:
            raise InvalidArgumentError(
                f"{self.name}: mode must be 'lstm', without use_sequence_length, got mode "
                f"'{self.attrs['mode']}' and use_sequence_length="
                f"{self.attrs['use_sequence_length']}"
            )

    def list_outputs(self) -> list[str]:
        """The outputs, and the last states on request."""
        states = ["state_output", "statecell_output"]
        return ["output", *states * self.attrs["state_outputs"]]

    def forward(self, data: Term, *rest: Term) -> list[Term]:
        """The network of real numbers."""
        *network, scale, shift = rest
        real = (data.op("Cast", dtype="float32") - shift) / scale
        found = real.outputs("RNN", *network, **{**self.given, "p": 0.0})
        return [out.op("BlockGrad") for out in found[: len(self.list_outputs())]]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A number each for scale and shift; the rest as of a network."""
        ends = zip(_ENDS, in_shapes[4:], strict=True)
        known = [merge_shapes(self.name, name, given, (1,)) for name, given in ends]
        args, outs, aux = RNN(**self.given).infer_shape(in_shapes[:4])
        return [*args, *known], outs[: len(self.list_outputs())], aux

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """As of a network."""
        found = RNN(**self.given).infer_shape_backward(in_shapes[:4], [*out_shapes, None])
        return [*found, *in_shapes[4:]]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """All are known."""
        args: list[str | None] = [self._claimed(name)[0] for name in self.arguments]
        outs: list[str | None] = ["float32"] * len(self.list_outputs())
        return args, outs, []
