"""How parameters follow their gradients: by a store, or by an updater beside it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .. import files
from .. import kvstore as kv
from .. import ndarray as nd
from .. import optimizer as opt
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray
from ..symbol import Symbol

__all__ = ["Updating", "make_optimizer", "make_store"]

LARGE = 16 << 20
"""With a parameter of more elements, a store of type ``local`` only sums, and does not update."""

Blocks = Sequence[Sequence[Any]]
"""For each parameter an array on each device."""


def make_store(given: Any, devices: int, params: Mapping[str, NDArray]) -> tuple[Any, bool]:
    """The store that gradients go through, or None, and whether it updates the parameters.

    Raises
    ------
    ArgumentTypeError
        Something else than a store, its type, or None.
    """
    wanted = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"
    if given is None:
        return None, False
    if isinstance(given, str):
        if devices == 1 and "dist" not in given:
            return None, False
        store = kv.create(given)
        large = max((array.size for array in params.values()), default=0) > LARGE
        return store, wanted and not (given == "local" and large)
    if isinstance(given, kv.KVStoreBase):
        can = given.is_capable(kv.KVStoreBase.OPTIMIZER)
        return given, wanted and can
    raise ArgumentTypeError(
        f"kvstore must be a store, its type such as 'local', or None, got {given!r}"
    )


def make_optimizer(
    given: Any,
    params: dict[str, Any],
    rescale: float,
    symbol: Symbol,
    names: dict[int, str],
    logger: Any,
) -> opt.Optimizer:
    """An optimizer by its name with attributes, or the one that is given."""
    if isinstance(given, str):
        params.setdefault("rescale_grad", rescale)
        return opt.create(given, sym=symbol, param_idx2name=names, **params)
    if not isinstance(given, opt.Optimizer):
        raise ArgumentTypeError(f"optimizer must be an Optimizer or its name, got {given!r}")
    if given.rescale_grad != rescale:
        warnings.warn(
            f"the optimizer multiplies gradients by {given.rescale_grad}, not by {rescale}, which "
            "is 1 / batch size; is this intended?",
            stacklevel=3,
        )
    if not given.idx2name:
        given.idx2name = dict(names)
    return given


class Updating:
    """An optimizer, and the store that gradients go through.

    Parameters
    ----------
    store
        Sums gradients over devices and processes; None where there is but one.
    optimizer
        The optimizer.
    on_store
        Whether the store applies it, and hands out parameters.
    names
        The parameters.
    """

    def __init__(
        self, store: Any, optimizer: opt.Optimizer, on_store: bool, names: Sequence[str]
    ) -> None:
        self.store, self.optimizer, self.on_store = store, optimizer, on_store
        self.names = list(names)
        self.updater = None if on_store else opt.get_updater(optimizer)

    def start(self, params: Blocks, values: Mapping[str, NDArray]) -> None:
        """Gives the store the parameters, and takes them as it has them."""
        if self.store is None:
            return
        if self.on_store:
            self.store.set_optimizer(self.optimizer)
        for i, (name, block) in enumerate(zip(self.names, params, strict=True)):
            self.store.init(name, values[name])
            if self.on_store and block[0].stype == "default":
                self.store.pull(name, list(block), priority=-i)

    def step(self, params: Blocks, grads: Blocks) -> None:
        """Changes all parameters by their gradients."""
        trained = [i for i, block in enumerate(grads) if block[0] is not None]
        if self.store is not None:
            for i in trained:
                self.store.push(self.names[i], list(grads[i]), priority=-i)
                if self.on_store:
                    if params[i][0].stype == "default":
                        self.store.pull(self.names[i], list(params[i]), priority=-i)
                else:
                    sums = list(grads[i])
                    self.store.pull(self.names[i], sums, priority=-i, ignore_sparse=False)
        if self.updater is None:
            return
        devices = len(params[0]) if params else 0
        for k in range(devices):
            self.updater(
                [i * devices + k for i in trained],
                [grads[i][k] for i in trained],
                [params[i][k] for i in trained],
            )

    def pull_rows(self, rows: Mapping[str, Any], params: Blocks) -> None:
        """Fetches rows of parameters from the store, where that has them newer than devices."""
        if not self.on_store:
            return
        for name, numbers in rows.items():
            if name not in self.names:
                raise InvalidArgumentError(f"there is no parameter {name!r} to fetch rows of")
            for target in params[self.names.index(name)]:
                self.store.row_sparse_pull(name, target, row_ids=numbers)

    def pull_all_rows(self, values: Mapping[str, NDArray]) -> None:
        """Fetches row_sparse parameters whole, as devices have the rows of a batch alone."""
        if not self.on_store:
            return
        for i, name in enumerate(self.names):
            value = values[name]
            if value.stype == "row_sparse":
                rows = nd.arange(0, value.shape[0], dtype="int64")
                self.store.row_sparse_pull(name, value, priority=-i, row_ids=rows)

    def save(self, fname: str) -> None:
        """Writes the states of all parameters to a file."""
        if self.updater is None:
            self.store.save_optimizer_states(fname)
        else:
            files.write(fname, self.updater.get_states())

    def load(self, fname: str) -> None:
        """Sets the states to those of a file."""
        if self.updater is None:
            self.store.load_optimizer_states(fname)
        else:
            self.updater.set_states(files.read(fname))
