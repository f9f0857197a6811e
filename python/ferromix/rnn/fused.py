"""Layers of recurrent cells as one operator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from .. import symbol
from ..error import InvalidArgumentError
from ..initializer import FusedRNN
from ..initializer.fused import GATES, input_size, packed_size, parts
from ..ndarray import NDArray
from ..symbol import Symbol
from .base import BaseRNNCell, Info, RNNParams, normalized
from .cells import GRUCell, LSTMCell, RNNCell
from .modifiers import BidirectionalCell, DropoutCell, SequentialRNNCell

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Some layers of cells by the operator :class:`RNN`, which takes all steps at once.

    Parameters
    ----------
    num_hidden, num_layers
        Units of a layer, and how many layers.
    mode
        ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
    bidirectional
        Whether each layer also reads backward.
    dropout
        The share that is dropped between layers.
    get_next_state
        Whether :meth:`unroll` gives the states after the last step.
    forget_bias
        The first bias of the forget gate of an LSTM.
    prefix, params
        As for :class:`BaseRNNCell`; the prefix is by default the mode.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in GATES:
            raise InvalidArgumentError(
                f"FusedRNNCell: mode must be one of {', '.join(GATES)}, got {mode!r}"
            )
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout = bidirectional, dropout
        self._get_next_state, self._forget_bias = get_next_state, forget_bias
        self._directions = ["l", "r"] if bidirectional else ["l"]
        init = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)
        self._packed = f"{self.params._prefix}parameters"

    @property
    def state_info(self) -> Info:
        """A state for each layer and direction; of an LSTM a memory, too."""
        shape = len(self._directions) * self._num_layers, 0, self._num_hidden
        return [{"shape": shape, "__layout__": "LNC"}] * (2 if self._mode == "lstm" else 1)

    @property
    def _gate_names(self) -> Sequence[str]:
        return list(GATES[self._mode])

    def _parts(self, vector: NDArray, inputs: int) -> list[tuple[str, NDArray]]:
        sizes = inputs, self._num_hidden, self._num_layers, self._bidirectional
        return list(parts(vector, self._mode, self._prefix, *sizes))

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters by name with those of each gate of each layer by themselves."""
        found = dict(args)
        vector = found.pop(self._packed)
        sizes = self._num_hidden, self._num_layers, len(self._directions)
        inputs = input_size(self._mode, vector.size, *sizes)
        found.update({name: part.copy() for name, part in self._parts(vector, inputs)})
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """The reverse of :meth:`unpack_weights`."""
        found = dict(args)
        first = found[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        inputs, directions = first.shape[1], len(self._directions)
        size = packed_size(self._mode, inputs, self._num_hidden, self._num_layers, directions)
        vector = nd.zeros((size,), ctx=first.context, dtype=first.dtype)
        for name, part in self._parts(vector, inputs):
            part[:] = found.pop(name)
        found[self._packed] = vector
        return found

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Not possible: the operator takes all steps."""
        raise NotImplementedError("FusedRNNCell cannot be stepped; use unroll, or unfuse()")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Symbol]]:
        """The graph of some steps, one operator; fastest with the layout ``"TNC"``."""
        self.reset()
        data, axis = normalized(length, inputs, layout, True)
        if axis == 1:
            warnings.warn(
                "FusedRNNCell: the layout NTC is turned before and after; TNC is faster",
                stacklevel=2,
            )
            data = symbol.swapaxes(data, dim1=0, dim2=1)
        states = list(begin_state) if begin_state is not None else self.begin_state()
        words = dict(zip(("state", "state_cell"), states, strict=False))
        made = symbol.RNN(
            data=data,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **words,
        )
        outputs, after = (made[0], list(made)[1:]) if self._get_next_state else (made, [])
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        outputs, _ = normalized(length, outputs, layout, merge_outputs)
        return outputs, after

    def unfuse(self) -> SequentialRNNCell:
        """The same layers as cells, which have the parameters of :meth:`unpack_weights`."""
        size = self._num_hidden

        def cell(prefix: str) -> BaseRNNCell:
            if self._mode == "lstm":
                return LSTMCell(size, prefix, forget_bias=self._forget_bias)
            if self._mode == "gru":
                return GRUCell(size, prefix)
            return RNNCell(size, self._mode.removeprefix("rnn_"), prefix)

        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            left = cell(f"{self._prefix}l{i}_")
            if self._bidirectional:
                right, both = cell(f"{self._prefix}r{i}_"), f"{self._prefix}bi_l{i}_"
                stack.add(BidirectionalCell(left, right, output_prefix=both))
            else:
                stack.add(left)
            if self._dropout > 0 and i < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack
