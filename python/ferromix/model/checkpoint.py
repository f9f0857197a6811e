"""Trained networks on disk: the graph as JSON beside the parameters of each epoch.

A prefix names a family of files: ``prefix-symbol.json`` and ``prefix-0001.params``,
``prefix-0002.params`` and so on, in MXNet's formats.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import ndarray, symbol
from ..error import ArgumentTypeError, FileFormatError
from ..files import access, resolve
from ..ndarray import NDArray
from ..symbol import Symbol

__all__ = ["BatchEndParam", "latest_epoch", "load_checkpoint", "load_params", "save_checkpoint"]

Params = dict[str, NDArray]


class BatchEndParams(NamedTuple):
    """What a callback is told after each batch."""

    epoch: int
    nbatch: int
    """The number of the batch just done, counted from 0."""
    eval_metric: Any
    locals: Mapping[str, Any] | None


BatchEndParam = BatchEndParams
"""As scripts name it; the type has another name, as in MXNet."""


def save_checkpoint(
    prefix: str | os.PathLike[str],
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Writes the graph and the parameters after an epoch, and logs it.

    Parameters
    ----------
    prefix
        The beginning of the files' names, with their folder, which must exist.
    epoch
        The number in the name of the file of parameters.
    symbol
        The graph; not written where None.
    arg_params, aux_params
        Arguments and auxiliary states by name.
    remove_amp_cast
        As for :meth:`Symbol.save`.
    """
    prefix = os.fspath(prefix)
    if symbol is not None and not isinstance(symbol, Symbol):
        raise ArgumentTypeError(f"symbol must be a Symbol or None, got {type(symbol).__name__}")
    for what, params in (("arg_params", arg_params), ("aux_params", aux_params)):
        if not isinstance(params, Mapping):
            raise ArgumentTypeError(f"{what} must be a dict, got {type(params).__name__}")
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast)
    named = {f"arg:{name}": array for name, array in arg_params.items()}
    named |= {f"aux:{name}": array for name, array in aux_params.items()}
    path = _params_path(prefix, epoch)
    ndarray.save(path, named)
    logging.info('Saved checkpoint to "%s"', path)


def load_params(prefix: str | os.PathLike[str], epoch: int) -> tuple[Params, Params]:
    """Arguments and auxiliary states by name, as saved after `epoch`.

    Arrays of another kind than ``arg:`` and ``aux:`` are passed over, with a line in the log.

    Raises
    ------
    FileFormatError
        For a file with names that say no kind.
    """
    path = _params_path(os.fspath(prefix), epoch)
    loaded = ndarray.load(path)
    if not isinstance(loaded, dict):
        if loaded:
            raise FileFormatError(f"{path}: not the parameters of a checkpoint: no names")
        loaded = {}
    found: dict[str, Params] = {"arg": {}, "aux": {}}
    for key, array in loaded.items():
        kind, colon, name = key.partition(":")
        if not colon:
            raise FileFormatError(
                f"{path}: not the parameters of a checkpoint: expected names that begin with "
                f"'arg:' or 'aux:', found {key!r}"
            )
        if kind in found:
            found[kind][name] = array
        else:
            logging.warning("%s: passed over %r, which is neither 'arg:' nor 'aux:'", path, key)
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str | os.PathLike[str], epoch: int) -> tuple[Symbol, Params, Params]:
    """The graph, the arguments and the auxiliary states that :func:`save_checkpoint` wrote.

    Examples
    --------
    >>> import ferromix as mx
    >>> symbol, arg_params, aux_params = mx.model.load_checkpoint("lenet", 10)  # doctest: +SKIP
    """
    return (symbol.load(f"{os.fspath(prefix)}-symbol.json"), *load_params(prefix, epoch))


def latest_epoch(prefix: str | os.PathLike[str]) -> int | None:
    """The number of the last complete checkpoint, to go on from; None where there is none.

    A file has its name once it is complete, and that of the parameters is a checkpoint's last, so
    what a killed process left behind does not count.

    Examples
    --------
    >>> import ferromix as mx
    >>> epoch = mx.model.latest_epoch("lenet")
    >>> if epoch is not None:
    ...     module = mx.mod.Module.load("lenet", epoch, load_optimizer_states=True)
    """
    folder, name = os.path.split(resolve(prefix))
    wanted = re.compile(re.escape(name) + r"-(\d{4,})\.params")
    with access(folder or "."):
        found = [wanted.fullmatch(entry) for entry in os.listdir(folder or ".")]
    return max((int(match[1]) for match in found if match), default=None)


def _params_path(prefix: str, epoch: int) -> str:
    return f"{prefix}-{epoch:04d}.params"
