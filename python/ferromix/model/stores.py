"""How parameters and gradients go through a key-value store, for modules and for scripts.

Their names begin with an underscore, as scripts for MXNet import them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import kvstore as kv
from ..error import ArgumentTypeError
from ..ndarray import NDArray

__all__: list[str] = []

LARGE = 16 << 20
"""With a parameter of more elements, a store of type ``local`` only sums, and does not update."""

Blocks = Sequence[Sequence[Any]]
"""For each parameter an array on each device."""


def _create_kvstore(
    kvstore: Any, num_device: int, arg_params: Mapping[str, NDArray]
) -> tuple[Any, bool]:
    """The store that gradients go through, or None, and whether it updates the parameters.

    Raises
    ------
    ArgumentTypeError
        Something else than a store, its type, or None.
    """
    if kvstore is None:
        return None, False
    updates = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"
    if isinstance(kvstore, str):
        if num_device == 1 and "dist" not in kvstore:
            return None, False
        large = max((array.size for array in arg_params.values()), default=0) > LARGE
        updates = updates and not (kvstore == "local" and large)
        kvstore = kv.create(kvstore)
    if not isinstance(kvstore, kv.KVStoreBase):
        raise ArgumentTypeError(
            f"kvstore must be a store, its type such as 'local', or None, got {kvstore!r}"
        )
    return kvstore, updates and kvstore.is_capable(kv.KVStoreBase.OPTIMIZER)


def _create_sparse_kvstore(kvstore: Any) -> tuple[kv.KVStore, bool]:
    """A store for row_sparse parameters, which updates them itself, and True.

    Raises
    ------
    ArgumentTypeError
        Something else than a store that has rows, or its type.
    """
    store = kv.create(kvstore) if isinstance(kvstore, str) else kvstore
    if not isinstance(store, kv.KVStore):
        raise ArgumentTypeError(
            f"row_sparse parameters need a KVStore, or its type such as 'local', got {kvstore!r}"
        )
    return store, True


def _initialize_kvstore(
    kvstore: Any,
    param_arrays: Blocks,
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Gives the store the parameters; one that updates them hands them to the devices."""
    for name, block in zip(param_names, param_arrays, strict=False):
        value = arg_params[name]
        dense = value.stype == "default"
        if dense and (update_on_kvstore or not hasattr(kvstore, "init")):
            kvstore.broadcast(name, value, out=list(block))
        else:
            kvstore.init(name, value)


def _update_params_on_kvstore(
    param_arrays: Blocks, grad_arrays: Blocks, kvstore: Any, param_names: Sequence[str]
) -> None:
    """Has the store update the parameters by their gradients, and hand them out.

    Devices get row_sparse parameters when they ask for rows.
    """
    for i, (block, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if grads[0] is None:
            continue
        if block[0].stype == "default":
            kvstore.pushpull(param_names[i], list(grads), out=list(block), priority=-i)
        else:
            kvstore.push(param_names[i], list(grads), priority=-i)


def _update_params(
    param_arrays: Blocks,
    grad_arrays: Blocks,
    updater: Callable[..., Any],
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Sums gradients in the store, if there is one, and updates the parameters of each device.

    The updater is called for each device, with tuples of numbers, gradients and parameters, if any
    parameter has a gradient. A parameter has a number for each device.
    """
    trained = [i for i, grads in enumerate(grad_arrays) if grads[0] is not None]
    if kvstore is not None:
        for i in trained:
            name, grads = param_names[i] if param_names else i, list(grad_arrays[i])
            if grads[0].stype == "default":
                kvstore.pushpull(name, grads, priority=-i)
            else:
                kvstore.push(name, grads, priority=-i)
                kvstore.pull(name, out=grads, priority=-i, ignore_sparse=False)
    for k in range(num_device if trained else 0):
        updater(
            tuple(i * num_device + k for i in trained),
            tuple(grad_arrays[i][k] for i in trained),
            tuple(param_arrays[i][k] for i in trained),
        )
