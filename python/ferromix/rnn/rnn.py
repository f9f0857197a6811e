"""Checkpoints of recurrent networks, in which each gate has parameters of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..model import load_checkpoint, save_checkpoint
from ..ndarray import NDArray
from ..symbol import Symbol
from .base import BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]

Cells = BaseRNNCell | Sequence[BaseRNNCell]


def _list(cells: Cells) -> list[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Any = None,
    begin_state: Any = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list[Symbol]]:
    """The graph of some steps of a cell; :meth:`BaseRNNCell.unroll` under an old name."""
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(
    cells: Cells,
    prefix: str,
    epoch: int,
    symbol: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """As :func:`ferromix.model.save_checkpoint`, with the parameters of gates by themselves.

    So they may be loaded into cells that pack them in another way, such as fused ones.

    Parameters
    ----------
    cells
        The cell of the network, or all of them.
    prefix, epoch, symbol, arg_params, aux_params
        As there.
    """
    args = dict(arg_params)
    for cell in _list(cells):
        args = cell.unpack_weights(args)
    save_checkpoint(prefix, epoch, symbol, args, aux_params)


def load_rnn_checkpoint(
    cells: Cells, prefix: str, epoch: int
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """As :func:`ferromix.model.load_checkpoint`, of what :func:`save_rnn_checkpoint` wrote."""
    symbol, args, auxs = load_checkpoint(prefix, epoch)
    for cell in _list(cells):
        args = cell.pack_weights(args)
    return symbol, args, auxs


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback for ``epoch_end_callback`` that saves every `period` epochs."""
    period = max(1, int(period))

    def callback(
        iter_no: int, sym: Symbol, arg: Mapping[str, NDArray], aux: Mapping[str, NDArray]
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback
