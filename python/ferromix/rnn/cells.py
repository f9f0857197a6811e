"""Recurrent cells, unrolled step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import initializer as init
from .. import symbol
from ..symbol import Symbol
from .base import BaseRNNCell, Info, RNNParams

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _Dense(BaseRNNCell):
    """The base of cells with a product of the input and one of the state."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, **bias: Any) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        self._iB = self.params.get("i2h_bias", **bias)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self) -> Info:
        """One state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _products(
        self, inputs: Symbol, state: Symbol, name: str, gates: int = 1
    ) -> tuple[Symbol, Symbol]:
        """The two products, with a part for each gate."""
        size = self._num_hidden * gates
        return (
            symbol.FullyConnected(inputs, self._iW, self._iB, num_hidden=size, name=f"{name}i2h"),
            symbol.FullyConnected(state, self._hW, self._hB, num_hidden=size, name=f"{name}h2h"),
        )

    def _step(self) -> str:
        """The beginning of the names of a step."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


class RNNCell(_Dense):
    """The plain cell, ``out = activation(W_i x + b_i + W_h h + b_h)``.

    Parameters
    ----------
    num_hidden
        How many units it has.
    activation
        The name of a function, or one.
    prefix, params
        As for :class:`BaseRNNCell`.

    Examples
    --------
    >>> import ferromix as mx
    >>> cell = mx.rnn.RNNCell(4, prefix="rnn_")
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    def __init__(
        self,
        num_hidden: int,
        activation: Any = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name = self._step()
        i2h, h2h = self._products(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_Dense):
    """Long short-term memory (S. Hochreiter and J. Schmidhuber, 1997), with a forget gate.

    Parameters
    ----------
    num_hidden
        How many units it has.
    prefix, params
        As for :class:`BaseRNNCell`.
    forget_bias
        The first bias of the forget gate.
    """

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(num_hidden, prefix, params, init=init.LSTMBias(forget_bias=forget_bias))

    @property
    def state_info(self) -> Info:
        """The output, and the memory."""
        return super().state_info * 2

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name = self._step()
        i2h, h2h = self._products(inputs, states[0], name, 4)
        gates = symbol.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
        enter = symbol.Activation(gates[0], act_type="sigmoid", name=f"{name}i")
        keep = symbol.Activation(gates[1], act_type="sigmoid", name=f"{name}f")
        new = symbol.Activation(gates[2], act_type="tanh", name=f"{name}c")
        leave = symbol.Activation(gates[3], act_type="sigmoid", name=f"{name}o")
        memory = symbol.elemwise_add(keep * states[1], enter * new, name=f"{name}state")
        shown = symbol.Activation(memory, act_type="tanh")
        output = symbol.elemwise_mul(leave, shown, name=f"{name}out")
        return output, [output, memory]


class GRUCell(_Dense):
    """The gated recurrent unit (K. Cho et al., 2014), as cuDNN has it.

    Parameters
    ----------
    num_hidden
        How many units it has.
    prefix, params
        As for :class:`BaseRNNCell`.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name, before = self._step(), states[0]
        i2h, h2h = self._products(inputs, before, f"{name}_", 3)
        i2h = symbol.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice")
        h2h = symbol.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice")
        reset = symbol.Activation(i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = symbol.Activation(i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
        new = symbol.Activation(i2h[2] + reset * h2h[2], act_type="tanh", name=f"{name}_h_act")
        output = symbol.elemwise_add((1.0 - update) * new, update * before, name=f"{name}out")
        return output, [output]
