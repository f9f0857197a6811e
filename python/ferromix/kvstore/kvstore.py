"""What every key-value store of ours does.

A store holds one array per key. A push hands it a gradient (or several, one per device, which it
sums) and the store's updater changes its array; a pull copies the array out. Both return at once:
they are operations of the engine, ordered with whatever else uses the same arrays.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import files
from ..error import ArgumentTypeError, InvalidArgumentError, MXNetError
from ..ndarray import NDArray
from ..optimizer import Optimizer, Updater, get_updater
from .base import Key, Keys, KVStoreBase, Values
from .compression import GradientCompression

__all__ = ["KVStore", "Key", "Keys", "Values", "require_optimizer"]

UpdateFunction = Callable[[Key, NDArray, NDArray], None]


class KVStore(KVStoreBase):
    """The interface of all stores of ours.

    Examples
    --------
    >>> import ferromix as mx
    >>> kv = mx.kv.create("local")
    >>> kv.init("w", mx.nd.ones((2,)))
    >>> kv.push("w", [mx.nd.ones((2,)), mx.nd.ones((2,)) * 3])
    >>> out = mx.nd.zeros((2,))
    >>> kv.pull("w", out=out)
    >>> out.asnumpy()
    array([4., 4.], dtype=float32)
    """

    def __init__(self, name: str) -> None:
        self._type = name
        self._updater: UpdateFunction | None = None
        self._compression: GradientCompression | None = None

    @property
    def type(self) -> str:
        """The name that the store was created by."""
        return self._type

    @property
    def rank(self) -> int:
        """The number of this worker among all."""
        return 0

    @property
    def num_workers(self) -> int:
        """How many workers share the store."""
        return 1

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can do something; all can run an ``"optimizer"``."""
        if not isinstance(capability, str):
            raise ArgumentTypeError(
                f"is_capable: capability must be a string, got {type(capability).__name__}"
            )
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise InvalidArgumentError(f"is_capable: unknown capability {capability!r}")
        return True

    # -- data ----------------------------------------------------------------------------------

    @abstractmethod
    def init(self, key: Keys, value: Values) -> None:
        """Gives each key its first value, which is copied.

        Raises
        ------
        InvalidArgumentError
            For a key that has a value already.
        """

    @abstractmethod
    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sums the arrays of each key and updates the store by the sum.

        Without an updater the sum replaces the store's value. The pushed arrays never change.

        Parameters
        ----------
        key
            A key or a list of keys.
        value
            For each key an array or a list of arrays.
        priority
            A hint for stores that send over a network: higher goes first.

        Raises
        ------
        InvalidArgumentError
            For an unknown key, or a shape that is not the key's.
        """

    @abstractmethod
    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copies the value of each key to an array or to each of a list of arrays.

        Parameters
        ----------
        key, priority
            As in :meth:`push`.
        out
            For each key an array or a list of arrays to overwrite.
        ignore_sparse
            Whether row_sparse values, and row_sparse arrays of `out`, are left alone.

        Raises
        ------
        InvalidArgumentError
            For an unknown key, or a shape that is not the key's.
        """

    @abstractmethod
    def row_sparse_pull(
        self,
        key: Keys,
        out: Values | None = None,
        priority: int = 0,
        row_ids: NDArray | Sequence[NDArray] | None = None,
    ) -> None:
        """Copies rows of row_sparse values to row_sparse arrays.

        Parameters
        ----------
        key, priority
            As in :meth:`push`.
        out
            For each key an array or a list of arrays to overwrite; they get these rows only.
        row_ids
            The numbers of the rows, in any order: for each array, or one for all.

        Raises
        ------
        InvalidArgumentError
            For an unknown key, a value or an array that is not row_sparse, or unequal numbers.
        """

    def pushpull(
        self, key: Keys, value: Values, out: Values | None = None, priority: int = 0
    ) -> None:
        """Pushes `value`, then pulls into `out`, or into `value` itself where None."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Gives each key its first value, then pulls it into `out`."""
        self.init(key, value)
        self.pull(key, out, priority)

    # -- workers -------------------------------------------------------------------------------

    def barrier(self) -> None:
        """Waits until every worker is here; one alone does not wait."""
        return None

    def _barrier(self) -> None:
        self.barrier()

    def join(self) -> None:
        """Says that this worker has no more batches, and waits for the others."""
        return None

    def num_dead_node(self, node_id: int = 0, timeout: float = 60.0) -> int:
        """How many workers do not answer within `timeout` seconds; `node_id` is MXNet's.

        A worker's failure breaks the store, so this is of use after an error.
        """
        return 0

    get_num_dead_node = num_dead_node

    def send_command_to_servers(self, head: int, body: str | bytes) -> None:
        """Runs a command in every server: 0 sets the optimizer that `body` is a pickle of.

        Raises
        ------
        MXNetError
            For a store without servers.
        """
        raise MXNetError(
            f"KVStore.send_command_to_servers: {self.type} has no servers; call set_optimizer"
        )

    def _send_command_to_servers(self, head: int, body: str | bytes) -> None:
        self.send_command_to_servers(head, body)

    # -- gradients -----------------------------------------------------------------------------

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Sends gradients in fewer bits; see :class:`~.compression.GradientCompression`.

        Only pushes of dense float32 arrays can be, and are, compressed; the stored values, and so
        what is pulled, are not.

        Parameters
        ----------
        compression_params
            ``{"type": "2bit", "threshold": 0.5}``, or type ``"1bit"`` or ``"fp16"``.

        Raises
        ------
        InvalidArgumentError
            For parameters that make no sense.
        MXNetError
            For a store that sends nothing anywhere, such as ``local``.
        """
        if "device" not in self.type and "dist" not in self.type and self.type != "horovod":
            raise MXNetError(
                "Gradient compression is not supported for this type of kvstore: "
                f"{self.type}; use device or dist_sync"
            )
        self._compression = GradientCompression(compression_params)

    # -- updates -------------------------------------------------------------------------------

    def set_updater(self, updater: UpdateFunction) -> None:
        """Sets what a push does: ``updater(key, received, stored)`` changes ``stored``."""
        if updater is not None and not callable(updater):
            raise ArgumentTypeError(
                f"KVStore.set_updater: expected a function, got {type(updater).__name__}"
            )
        self._updater = updater

    _set_updater = set_updater

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Lets the store apply an optimizer to whatever is pushed."""
        self.set_updater(get_updater(require_optimizer(optimizer)))

    def save_optimizer_states(
        self, fname: str | os.PathLike[str], dump_optimizer: bool = False
    ) -> None:
        """Writes what the optimizer remembers to a file; any earlier file is replaced at once.

        Parameters
        ----------
        fname
            The path.
        dump_optimizer
            Whether to save the optimizer too.
        """
        files.write(fname, self._optimizer_updater("saved").get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Restores what :meth:`save_optimizer_states` wrote; load only files that you trust."""
        updater = self._optimizer_updater("loaded")
        updater.set_states(files.read(fname))

    def _optimizer_updater(self, done: str) -> Updater:
        if not isinstance(self._updater, Updater):
            raise MXNetError(
                f"KVStore: states of an optimizer cannot be {done}, because the store has none; "
                "call set_optimizer first"
            )
        return self._updater


def require_optimizer(optimizer: Any) -> Optimizer:
    """The argument, or an error if it is no optimizer."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    raise ArgumentTypeError(
        f"KVStore.set_optimizer: expected an Optimizer, got {type(optimizer).__name__}"
    )
