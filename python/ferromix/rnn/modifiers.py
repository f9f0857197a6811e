"""Cells made of others: one after another, both ways, and changed in what they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import symbol
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from ..symbol import Symbol
from .base import BaseRNNCell, Info, RNNParams, normalized

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "ModifierCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


class _Several(BaseRNNCell):
    """The base of cells that have cells."""

    def __init__(
        self, cells: Sequence[BaseRNNCell], params: RNNParams | None, prefix: str = ""
    ) -> None:
        self._cells: list[BaseRNNCell] = []
        super().__init__(prefix, params)
        self._override = params is not None
        for cell in cells:
            self._take(cell)

    def _take(self, cell: BaseRNNCell) -> None:
        """Appends a cell, which shares variables with this one."""
        if self._override:
            if not cell._own_params:
                raise InvalidArgumentError(
                    "give params to the cells, or to the one that has them, not to both"
                )
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)
        self._cells.append(cell)

    def reset(self) -> None:
        """Counts anew, in all cells, too."""
        super().reset()
        for cell in self._cells:
            cell.reset()

    @property
    def state_info(self) -> Info:
        """The states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(
        self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """The first states of all cells."""
        if self._modified:
            raise InvalidArgumentError(
                "begin_state: another cell modifies this one; call its begin_state"
            )
        return [s for cell in self._cells for s in cell.begin_state(func, **kwargs)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with those of each gate by themselves, of all cells."""
        found = dict(args)
        for cell in self._cells:
            found = cell.unpack_weights(found)
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """The reverse of :meth:`unpack_weights`."""
        found = dict(args)
        for cell in self._cells:
            found = cell.pack_weights(found)
        return found

    def _of_each(self, states: Sequence[Symbol]) -> list[Sequence[Symbol]]:
        """The states of each cell."""
        parts, start = [], 0
        for cell in self._cells:
            end = start + len(cell.state_info)
            parts.append(states[start:end])
            start = end
        return parts


class SequentialRNNCell(_Several):
    """Cells one after another.

    Parameters
    ----------
    params
        Variables to share.

    Examples
    --------
    >>> import ferromix as mx
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> stack.add(mx.rnn.LSTMCell(4, prefix="l0_"))
    >>> stack.add(mx.rnn.DropoutCell(0.5))
    >>> stack.state_shape
    [(0, 4), (0, 4)]
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__([], params)

    def add(self, cell: BaseRNNCell) -> None:
        """Appends a cell."""
        self._take(cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step of each cell."""
        self._counter += 1
        after: list[Symbol] = []
        for cell, own in zip(self._cells, self._of_each(states), strict=True):
            if isinstance(cell, BidirectionalCell):
                raise InvalidArgumentError("BidirectionalCell cannot be stepped; use unroll")
            inputs, own_after = cell(inputs, own)
            after += own_after
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Symbol]]:
        """The graph of some steps, cell by cell."""
        self.reset()
        states = list(begin_state) if begin_state is not None else self.begin_state()
        after: list[Symbol] = []
        for i, (cell, own) in enumerate(zip(self._cells, self._of_each(states), strict=True)):
            merge = merge_outputs if i == len(self._cells) - 1 else None
            inputs, own_after = cell.unroll(length, inputs, own, layout, merge)
            after += own_after
        return inputs, after


class BidirectionalCell(_Several):
    """A cell that reads forward and one that reads backward; their outputs are put together.

    Parameters
    ----------
    l_cell, r_cell
        The cells.
    params
        Variables to share.
    output_prefix
        The beginning of the names of outputs.
    """

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__([l_cell, r_cell], params)
        self._output_prefix = output_prefix

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Not possible: the cell that reads backward begins at the end."""
        raise NotImplementedError("BidirectionalCell cannot be stepped; use unroll")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """The graph of some steps; the states are a list for each cell."""
        self.reset()
        steps, axis = normalized(length, inputs, layout, False)
        states = list(begin_state) if begin_state is not None else self.begin_state()
        left, right = self._cells
        first, second = self._of_each(states)
        ahead, ahead_states = left.unroll(length, steps, first, layout, merge_outputs)
        back, back_states = right.unroll(
            length, list(reversed(steps)), second, layout, merge_outputs
        )
        if merge_outputs is None:
            merge_outputs = isinstance(ahead, Symbol) and isinstance(back, Symbol)
            ahead, _ = normalized(length, ahead, layout, merge_outputs)
            back, _ = normalized(length, back, layout, merge_outputs)
        if merge_outputs:
            pairs = [(ahead, symbol.reverse(back, axis=axis))]
            names = [f"{self._output_prefix}out"]
        else:
            pairs = list(zip(ahead, reversed(back), strict=True))
            names = [f"{self._output_prefix}t{i}" for i in range(length)]
        outputs = [
            symbol.Concat(*pair, dim=2 if merge_outputs else 1, name=name)
            for pair, name in zip(pairs, names, strict=True)
        ]
        return (outputs[0] if merge_outputs else outputs), [ahead_states, back_states]


class DropoutCell(BaseRNNCell):
    """Dropout of what comes in, at each step; there are no states.

    Parameters
    ----------
    dropout
        The share that is dropped.
    prefix, params
        As for :class:`BaseRNNCell`.
    """

    def __init__(
        self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None
    ) -> None:
        super().__init__(prefix, params)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise InvalidArgumentError(f"DropoutCell: dropout must be a number, got {dropout!r}")
        self.dropout = dropout

    @property
    def state_info(self) -> Info:
        """None."""
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        output = symbol.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs
        return output, list(states)

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Symbol]]:
        """The graph of some steps; one operator where the inputs are one symbol."""
        self.reset()
        found, _ = normalized(length, inputs, layout, merge_outputs)
        if isinstance(found, Symbol):
            return self(found, [])
        return super().unroll(length, found, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """The base of cells that change what another one gives.

    Parameters
    ----------
    base_cell
        The other cell.
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        self.base_cell = base_cell
        base_cell._modified = True
        super().__init__()

    def reset(self) -> None:
        """Counts anew, in the other cell, too."""
        super().reset()
        self.base_cell.reset()

    @property
    def params(self) -> RNNParams:
        """The variables of the other cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> Info:
        """The states of the other cell."""
        return self.base_cell.state_info

    def begin_state(  # pyright: ignore[reportIncompatibleMethodOverride] - MXNet's name
        self, init_sym: Callable[..., Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """The first states of the other cell."""
        if self._modified:
            raise InvalidArgumentError(
                "begin_state: another cell modifies this one; call its begin_state"
            )
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(init_sym, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """As of the other cell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """As of the other cell."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps some outputs and states of the step before (D. Krueger et al., 2016).

    Parameters
    ----------
    base_cell
        The cell; no fused one, and no bidirectional one.
    zoneout_outputs, zoneout_states
        The shares that are kept.
    """

    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        # Their steps cannot be told apart, or begin at the end.
        if isinstance(base_cell, BidirectionalCell) or type(base_cell).__name__ == "FusedRNNCell":
            raise InvalidArgumentError(
                f"ZoneoutCell: it cannot change a {type(base_cell).__name__}; change the cells in "
                "it, or unfuse() it"
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        """Counts anew, and forgets the output before."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        output, after = self.base_cell(inputs, states)

        def kept(share: float, new: Symbol, old: Symbol) -> Symbol:
            """The new one where dropout of ones leaves something."""
            return symbol.where(symbol.Dropout(symbol.ones_like(new), p=share), new, old)

        before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
        result = kept(self.zoneout_outputs, output, before) if self.zoneout_outputs else output
        if self.zoneout_states:
            pairs = zip(after, states, strict=True)
            after = [kept(self.zoneout_states, new, old) for new, old in pairs]
        self.prev_output = result
        return result, after


class ResidualCell(ModifierCell):
    """Adds to the output what came in (Y. Wu et al., 2016)."""

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        output, after = self.base_cell(inputs, states)
        return _added(output, inputs), after

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Symbol]]:
        """The graph of some steps."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state, layout, merge_outputs
            )
        finally:
            self.base_cell._modified = True
        merged = isinstance(outputs, Symbol)
        given, _ = normalized(length, inputs, layout, merged)
        if merged:
            return _added(outputs, given), states
        return [_added(out, one) for out, one in zip(outputs, given, strict=True)], states


def _added(output: Symbol, inputs: Symbol) -> Symbol:
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
