"""Recurrent cells whose products are convolutions (X. Shi et al., 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import symbol
from ..error import InvalidArgumentError
from ..symbol import Symbol
from .base import BaseRNNCell, Info, RNNParams

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

LEAKY = partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """The base of cells with a convolution of the input and one of the state.

    Parameters
    ----------
    input_shape
        The shape of an input, of which the batch does not matter.
    num_hidden
        Channels of the state.
    h2h_kernel, h2h_dilate
        Of the convolution of the state; kernels are odd, so that its extents stay.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate
        Of the convolution of the input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the variables.
    activation
        The name of a function, or one.
    prefix, params
        As for :class:`BaseRNNCell`.
    conv_layout
        ``"NCHW"``.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: tuple[int, int] = (3, 3),
        h2h_dilate: tuple[int, int] = (1, 1),
        i2h_kernel: tuple[int, int] = (3, 3),
        i2h_stride: tuple[int, int] = (1, 1),
        i2h_pad: tuple[int, int] = (1, 1),
        i2h_dilate: tuple[int, int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = LEAKY,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix, params)
        if any(k % 2 == 0 for k in h2h_kernel):
            raise InvalidArgumentError(
                f"{type(self).__name__}: h2h_kernel must be odd, got {h2h_kernel}"
            )
        self._num_hidden, self._layout = num_hidden, conv_layout
        self._activation = activation
        pads = [d * (k - 1) // 2 for k, d in zip(h2h_kernel, h2h_dilate, strict=True)]
        self._h2h: dict[str, Any] = {"kernel": h2h_kernel, "dilate": h2h_dilate, "stride": (1, 1)}
        self._h2h["pad"] = tuple(pads)
        self._i2h: dict[str, Any] = {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad}
        self._i2h["dilate"] = i2h_dilate
        first = symbol.Convolution(
            symbol.Variable("data"), num_filter=num_hidden, layout=conv_layout, **self._i2h
        )
        shape = (first.infer_shape(data=tuple(input_shape))[1] or [()])[0]
        self._state_shape = (0, *shape[1:])
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    @property
    def state_info(self) -> Info:
        """One state."""
        return [{"shape": self._state_shape, "__layout__": self._layout}]

    def _conv_forward(
        self, inputs: Symbol, states: Sequence[Symbol], name: str
    ) -> tuple[Symbol, Symbol]:
        """The two convolutions, with a part for each gate."""
        size = self._num_hidden * self._num_gates
        count: dict[str, Any] = {"num_filter": size, "layout": self._layout}
        given = [
            (inputs, self._iW, self._iB, "i2h", self._i2h),
            (states[0], self._hW, self._hB, "h2h", self._h2h),
        ]
        i2h, h2h = (
            symbol.Convolution(data, weight, bias, name=f"{name}{word}", **attrs, **count)
            for data, weight, bias, word, attrs in given
        )
        return i2h, h2h

    def _step(self) -> str:
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


class ConvRNNCell(BaseConvRNNCell):
    """:class:`RNNCell` with convolutions; parameters as for :class:`BaseConvRNNCell`."""

    def __init__(self, *args: Any, prefix: str = "ConvRNN_", **kwargs: Any) -> None:
        super().__init__(*args, prefix=prefix, **kwargs)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name = self._step()
        i2h, h2h = self._conv_forward(inputs, states, name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class ConvLSTMCell(BaseConvRNNCell):
    """:class:`LSTMCell` with convolutions; parameters as for :class:`BaseConvRNNCell`."""

    def __init__(self, *args: Any, prefix: str = "ConvLSTM_", **kwargs: Any) -> None:
        super().__init__(*args, prefix=prefix, **kwargs)

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
        i2h, h2h = self._conv_forward(inputs, states, name)
        axis = self._layout.find("C")
        gates = symbol.SliceChannel(i2h + h2h, num_outputs=4, axis=axis, name=f"{name}slice")
        enter = symbol.Activation(gates[0], act_type="sigmoid", name=f"{name}i")
        keep = symbol.Activation(gates[1], act_type="sigmoid", name=f"{name}f")
        new = self._get_activation(gates[2], self._activation, name=f"{name}c")
        leave = symbol.Activation(gates[3], act_type="sigmoid", name=f"{name}o")
        memory = symbol.elemwise_add(keep * states[1], enter * new, name=f"{name}state")
        shown = self._get_activation(memory, self._activation)
        output = symbol.elemwise_mul(leave, shown, name=f"{name}out")
        return output, [output, memory]


class ConvGRUCell(BaseConvRNNCell):
    """:class:`GRUCell` with convolutions; parameters as for :class:`BaseConvRNNCell`."""

    def __init__(self, *args: Any, prefix: str = "ConvGRU_", **kwargs: Any) -> None:
        super().__init__(*args, prefix=prefix, **kwargs)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name, before = self._step(), states[0]
        i2h, h2h = self._conv_forward(inputs, states, name)
        axis = self._layout.find("C")
        # MXNet writes no axis, and lacks one for channels that come last.
        gates: Any = {"num_outputs": 3} if axis == 1 else {"num_outputs": 3, "axis": axis}
        i2h = symbol.SliceChannel(i2h, name=f"{name}_i2h_slice", **gates)
        h2h = symbol.SliceChannel(h2h, name=f"{name}_h2h_slice", **gates)
        reset = symbol.Activation(i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = symbol.Activation(i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
        new = i2h[2] + reset * h2h[2]
        new = self._get_activation(new, self._activation, name=f"{name}_h_act")
        output = symbol.elemwise_add((1.0 - update) * new, update * before, name=f"{name}out")
        return output, [output]
