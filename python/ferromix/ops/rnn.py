"""Recurrent networks of several layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import (
    Claims,
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    Shape,
    merge_shapes,
    register,
)
from .family import NUMBERS, REALS, Types
from .param import Param, Params

__all__ = ["RNN"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_LENGTHS = "sequence_length"
_PARAMS = {
    "state_size": Param("int", doc="The number of units of a cell.", low=1),
    "num_layers": Param("int", doc="The number of layers.", low=1),
    "bidirectional": Param("bool", False, "Whether a layer also runs from the last step."),
    "mode": Param("str", doc="What the cells compute.", choices=tuple(_GATES)),
    "p": Param("float", 0.0, "The probability of zero between layers.", low=0, high=1),
    "state_outputs": Param("bool", False, "Whether the last states are outputs."),
    "projection_size": Param(
        "int", None, "The size that an LSTM's outputs are projected on.", low=1, optional=True
    ),
    "lstm_state_clip_min": Param(
        "float", None, "The least cell state of an LSTM, where both are given.", optional=True
    ),
    "lstm_state_clip_max": Param("float", None, "The greatest one.", optional=True),
    "lstm_state_clip_nan": Param("bool", False, "Whether a state of NaN becomes the least one."),
    "use_sequence_length": Param("bool", False, "Whether sequences have lengths of their own."),
}


class _Network(OperatorProperty):
    """Names and sizes of a network's arguments."""

    dtypes: ClassVar[tuple[str, ...]] = REALS
    arguments: ClassVar[tuple[str, ...]] = ("data", "parameters", "state", "state_cell", _LENGTHS)
    argument_dtypes: ClassVar[Claims] = {_LENGTHS: NUMBERS}
    params: ClassVar[Params] = _PARAMS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["projection_size"] is not None and self.attrs["mode"] != "lstm":
            raise InvalidArgumentError(
                f"{self.name}: attribute 'projection_size' is for mode 'lstm', got mode "
                f"'{self.attrs['mode']}'"
            )

    def states(self) -> list[str]:
        """The names of the states."""
        return ["state", "state_cell"] if self.attrs["mode"] == "lstm" else ["state"]

    def network_arguments(self) -> list[str]:
        """The arguments of the network."""
        lengths = [_LENGTHS] * self.attrs["use_sequence_length"]
        return ["data", "parameters", *self.states(), *lengths]

    def network_outputs(self) -> list[str]:
        """What the network gives, and what it keeps for its gradient."""
        states = ["state_output", "statecell_output"][: len(self.states())]
        return ["output", *states * self.attrs["state_outputs"], "__kept__"]

    def shapes(self, data: MaybeShape) -> tuple[list[MaybeShape], list[MaybeShape]]:
        """The shapes of arguments and outputs."""
        steps, batch, features = data or (-1, -1, -1)
        attrs, hidden = self.attrs, self.attrs["state_size"]
        directions = 1 + attrs["bidirectional"]
        out = attrs["projection_size"] or hidden
        cells: list[Shape] = [(attrs["num_layers"] * directions, batch, out)]
        if attrs["mode"] == "lstm":
            cells.append((attrs["num_layers"] * directions, batch, hidden))
        arguments: list[MaybeShape] = [data, (self._count(features),), *cells]
        if attrs["use_sequence_length"]:
            arguments.append((batch,))
        visible = cells if attrs["state_outputs"] else []
        kept = self._kept(steps, batch)
        return arguments, [(steps, batch, directions * out), *visible, (kept,)]

    def _count(self, features: int) -> int:
        """The number of parameters."""
        if features < 0:
            return -1
        attrs = self.attrs
        hidden, directions = attrs["state_size"], 1 + attrs["bidirectional"]
        wide = _GATES[attrs["mode"]] * hidden
        out = attrs["projection_size"] or hidden
        rest = wide * (out + 2) + (attrs["projection_size"] or 0) * hidden
        below = (attrs["num_layers"] - 1) * (wide * directions * out + rest)
        return directions * (wide * features + rest + below)

    def _features(self, count: int) -> int:
        """The features of the data for so many parameters; -1 where there are none."""
        if count < 0:
            return -1
        least, step = self._count(0), self._count(1) - self._count(0)
        return (count - least) // step if count >= least and (count - least) % step == 0 else -1

    def _kept(self, steps: int, batch: int) -> int:
        """How many numbers the gradient needs; see ``Kept`` in ``rust/kernels``."""
        if steps < 0 or batch < 0:
            return 0 if 0 in (steps, batch) else -1
        attrs = self.attrs
        directions, projects = 1 + attrs["bidirectional"], attrs["projection_size"] is not None
        each = (_GATES[attrs["mode"]] + (attrs["mode"] in ("lstm", "gru")) + projects) * attrs[
            "state_size"
        ]
        out = attrs["projection_size"] or attrs["state_size"]
        between = (attrs["num_layers"] - 1) * out * (1 + (attrs["p"] > 0))
        return steps * batch * directions * (attrs["num_layers"] * each + between)


@register
class RNN(_Network):
    """A recurrent network of one or more layers, all steps at once.

    Formula: with ``x`` and ``h`` for a step's input and the old state, ``u = W . x + b`` and
    ``v = R . h + c``, each for every gate: ``rnn_relu`` and ``rnn_tanh`` give ``h = f(u + v)``;
    ``lstm`` gives ``c = sigmoid(u_f + v_f) * c + sigmoid(u_i + v_i) * tanh(u_g + v_g)`` and
    ``h = sigmoid(u_o + v_o) * tanh(c)``, with gates in the order ``i, f, g, o``; ``gru`` gives
    ``n = tanh(u_n + r * v_n)`` and ``h = (1 - z) * n + z * h``, where ``r`` and ``z`` are
    ``sigmoid(u + v)`` of their gates, in the order ``r, z, n``. With ``projection_size`` the output
    and the state ``h`` of an ``lstm`` are ``P . h``; with both bounds its ``c`` is clipped. Another
    layer takes the outputs for its inputs, in training with a probability ``p`` of zero.
    ``bidirectional`` layers also run from the last step to the first; both outputs are joined.
    With ``use_sequence_length`` a sequence of the batch has the first ``sequence_length`` steps:
    the outputs after them are 0, the last state is that of its last step.
    Shapes: ``data`` is ``(steps, batch, features)``; with ``d`` for 2 where ``bidirectional`` and
    1 otherwise, and ``m`` for ``projection_size`` or else ``state_size``, ``output`` is
    ``(steps, batch, d * m)``, ``state`` ``(num_layers * d, batch, m)``, ``state_cell``
    ``(num_layers * d, batch, state_size)``, ``sequence_length`` ``(batch,)``. ``parameters`` is one
    vector: of each layer and direction ``W``, ``R`` and ``P``, then of each the biases ``b`` and
    ``c``. With ``state_outputs`` the last states are outputs, too. Types: float32 and float64, all
    alike; ``sequence_length`` has any type of numbers.
    Gradient: that of the formula, for all but ``sequence_length``.

    Examples
    --------
    >>> data, state = mx.nd.array([[[1.0]], [[2.0]]]), mx.nd.zeros((1, 1, 1))
    >>> weights = mx.nd.array([1, 0.5, 0, 0])
    >>> sizes = {"state_size": 1, "num_layers": 1}
    >>> print(mx.nd.RNN(data, weights, state, mode="rnn_relu", **sizes).asnumpy())
    [[[1. ]]
    <BLANKLINE>
     [[2.5]]]
    """

    name = "RNN"
    uses_train_mode = True
    private_outputs = 1
    private_for_gradient = True

    def list_arguments(self) -> list[str]:
        """Cell states and lengths may be missing."""
        return self.network_arguments()

    def list_outputs(self) -> list[str]:
        """The outputs, the last states on request, and what the gradient needs."""
        return self.network_outputs()

    def num_visible_outputs(self) -> int:
        """What is kept is for the gradient."""
        return len(self.network_outputs()) - 1

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Everything from the data; their features also from the parameters."""
        data = in_shapes[0]
        if data is not None and len(data) != 3:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected 3 dimensions: "
                "(steps, batch, features)"
            )
        count, state = in_shapes[1], in_shapes[2]
        found: Shape = (
            -1,
            state[1] if state is not None and len(state) == 3 else -1,
            self._features(count[0]) if count is not None and len(count) == 1 else -1,
        )
        if data is None or -1 in data:
            data = tuple(y if x < 0 else x for x, y in zip(data or found, found, strict=True))
        expected, outs = self.shapes(data)
        names = self.network_arguments()
        merged = [
            merge_shapes(self.name, name, given, shape)
            for name, given, shape in zip(names, in_shapes, expected, strict=True)
        ]
        return merged, outs, []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Steps and batch from the output."""
        out = out_shapes[0]
        if out is None or len(out) != 3:
            return list(in_shapes)
        data = merge_shapes(self.name, "data", in_shapes[0], (*out[:2], -1))
        return [data, *in_shapes[1:]]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Lengths have the type of the data where nothing says another one."""
        args, outs, aux = super().infer_type(in_types)
        return [given or args[0] for given in args], outs, aux

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        heads = graph.out_grad[: self.num_visible_outputs()]
        read = (*heads, *graph.in_data, graph.out_data[0], graph.out_data[-1])
        grads: list[Entry | None] = list(graph.op("_backward_RNN", *read, **self.attrs))
        return grads + [None] * self.attrs["use_sequence_length"]


@register
class BackwardRNN(_Network):
    """The gradients of RNN."""

    name = "_backward_RNN"
    hidden = True
    differentiable = False

    def list_arguments(self) -> list[str]:
        """The gradients of outputs, the arguments, the output and what was kept."""
        outputs = self.network_outputs()
        heads = [f"{name}_grad" for name in outputs[:-1]]
        return [*heads, *self.network_arguments(), outputs[0], outputs[-1]]

    def list_outputs(self) -> list[str]:
        """The gradients of data, parameters and states."""
        return [f"{name}_grad" for name in ("data", "parameters", *self.states())]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        heads = len(self.network_outputs()) - 1
        return list(given[heads : heads + 2 + len(self.states())])

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Those of the arguments."""
        return list(in_shapes), self._like(in_shapes), []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Those of the arguments."""
        return list(in_types), self._like(in_types), []
