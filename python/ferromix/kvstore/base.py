"""What every key-value store is, ours and those of one's own, and how one is created by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray
from ..optimizer import Optimizer

__all__ = ["KVStoreBase", "create"]

Key = int | str
Keys = Key | Sequence[Key]
Values = NDArray | Sequence[NDArray] | Sequence[Sequence[NDArray]]
"""One array or one list of arrays per device, for one key or for each of a list of keys."""
Store = TypeVar("Store", bound="KVStoreBase")


class KVStoreBase:
    """The least that a store of one's own must do: :meth:`broadcast` and :meth:`pushpull`.

    Examples
    --------
    >>> import ferromix as mx
    >>> @mx.kv.KVStoreBase.register
    ... class Summing(mx.kv.KVStoreBase):
    ...     rank, num_workers = 0, 1
    ...     def broadcast(self, key, value, out, priority=0):
    ...         value.copyto(out)
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         mx.nd.add_n(*value, out=out)
    >>> kv = mx.kv.create("summing")
    >>> out = mx.nd.zeros((2,))
    >>> kv.pushpull("w", [mx.nd.ones((2,)), mx.nd.ones((2,))], out)
    >>> out.asnumpy()
    array([2., 2.], dtype=float32)
    """

    OPTIMIZER = "optimizer"
    """The capability to run an optimizer."""
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}
    """The stores of one's own, by the names of their classes in small letters."""

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Gives each key the value of rank 0, and copies it to `out`."""
        raise NotImplementedError(f"{type(self).__name__} has no broadcast")

    def pushpull(
        self, key: Keys, value: Values, out: Values | None = None, priority: int = 0
    ) -> None:
        """Sums `value` over devices and workers into `out`, or into `value` itself where None."""
        raise NotImplementedError(f"{type(self).__name__} has no pushpull")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Lets the store apply an optimizer to whatever is pushed."""
        raise NotImplementedError(f"{type(self).__name__} runs no optimizer")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can do something, such as run an ``"optimizer"``."""
        raise NotImplementedError("is_capable: the store does not say what it can do")

    def save_optimizer_states(
        self, fname: str | os.PathLike[str], dump_optimizer: bool = False
    ) -> None:
        """Writes what the optimizer remembers to a file."""
        raise NotImplementedError(f"{type(self).__name__} runs no optimizer")

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Restores what :meth:`save_optimizer_states` wrote."""
        raise NotImplementedError(f"{type(self).__name__} runs no optimizer")

    @property
    def type(self) -> str:
        """The name that the store was created by."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """The number of this worker among all."""
        raise NotImplementedError(f"{type(self).__name__} does not say which worker this is")

    @property
    def num_workers(self) -> int:
        """How many workers share the store."""
        raise NotImplementedError(f"{type(self).__name__} does not say how many workers there are")

    @staticmethod
    def register(klass: type[Store]) -> type[Store]:
        """Makes a class available to :func:`create`, by its name in small letters.

        A name that is taken is taken over, with a warning.
        """
        if not (isinstance(klass, type) and issubclass(klass, KVStoreBase)):
            raise ArgumentTypeError(f"register: expected a class of KVStoreBase, got {klass!r}")
        name = klass.__name__.lower()
        found = KVStoreBase.kv_registry.get(name)
        if found is not None:
            warnings.warn(
                f"the key-value store {klass.__module__}.{klass.__name__} takes the place of "
                f"{found.__module__}.{found.__name__}",
                stacklevel=2,
            )
        KVStoreBase.kv_registry[name] = klass
        return klass


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The smallest store of one process, for tests of what uses stores."""

    __test__ = False  # no test of pytest's

    rank, num_workers = 0, 1  # type: ignore[assignment]

    def broadcast(self, key: Keys, value: Any, out: Any, priority: int = 0) -> None:
        """Copies `value` to `out`, or to each of a list."""
        for target in out if isinstance(out, list) else [out]:
            target[:] = value

    def pushpull(self, key: Keys, value: Any, out: Any = None, priority: int = 0) -> None:
        """Copies the sum of `value` to `out` or each of a list, or to `value` itself where None."""
        if isinstance(value, NDArray):
            total, targets = value, []
        else:
            context = value[0].context
            total, targets = sum(v.as_in_context(context) for v in value), value
        if out is not None:
            targets = out if isinstance(out, list) else [out]
        for target in targets:
            target[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        """It runs no optimizer."""
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return False
        raise InvalidArgumentError(f"is_capable: unknown capability {capability!r}")


def create(name: str = "local") -> Any:
    """A store by its name.

    Parameters
    ----------
    name
        ``"local"`` or ``"device"``: one process, sums and updates where the store's arrays are.
        ``"dist_sync"``, ``"dist_async"``, ``"horovod"``: of all processes that MPI started. Or that
        of a class of one's own, see :meth:`KVStoreBase.register`. Capital letters make no
        difference.

    Returns
    -------
    store
        A :class:`KVStore`, or an object of one's own class.

    Raises
    ------
    InvalidArgumentError
        For an unknown name.
    MXNetError
        For a distributed store, where MPI cannot be used.
    """
    from .local import NAMES, LocalKVStore

    if not isinstance(name, str):
        raise ArgumentTypeError(f"create: name must be a string, got {type(name).__name__}")
    wanted = name.lower()
    if wanted in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[wanted]()
    if wanted in NAMES:
        return LocalKVStore(wanted)
    if wanted.startswith(("dist", "horovod")):
        from .dist import create_dist

        return create_dist(wanted)
    known = ", ".join([*NAMES, *sorted(KVStoreBase.kv_registry)])
    raise InvalidArgumentError(
        f"unknown KVStore {name!r}; known: {known}, dist_sync, dist_async, horovod"
    )
