"""An optimizer together with what it remembers of each parameter."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from ..context import Context
from ..error import FileFormatError
from ..ndarray import NDArray
from .optimizer import Index, Optimizer

__all__ = ["Updater", "get_updater"]


class Updater:
    """Applies an optimizer; called with index, gradient and weight.

    Parameters
    ----------
    optimizer
        The rule.

    Examples
    --------
    >>> import ferromix as mx
    >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> updater(0, mx.nd.ones((2,)), weight)
    >>> weight.asnumpy()
    array([0.9, 0.9], dtype=float32)
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Index, Any] = {}
        self._loaded: set[Index] = set()

    def __call__(
        self,
        index: Index | Sequence[Index],
        grad: NDArray | Sequence[NDArray],
        weight: NDArray | Sequence[NDArray],
    ) -> None:
        """Updates one parameter, or each of a list of them."""
        indices = [index] if isinstance(index, (int, str)) else index
        grads = [grad] if isinstance(grad, NDArray) else grad
        weights = [weight] if isinstance(weight, NDArray) else weight
        for i, g, w in zip(indices, grads, weights, strict=True):
            if i not in self.states:
                self.states[i] = self.optimizer.create_state_multi_precision(i, w)
            elif i in self._loaded:
                self.states[i] = _placed(self.states[i], w.context)
                self._loaded.discard(i)
            self.optimizer.update_multi_precision(i, w, g, self.states[i])

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """A state on a device: an array, or a list or tuple of such."""
        return _placed(state, context)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Everything remembered, as bytes for :meth:`set_states`.

        Parameters
        ----------
        dump_optimizer
            Whether to include the optimizer, with its counts of updates.
        """
        return pickle.dumps((self.states, self.optimizer) if dump_optimizer else self.states)

    def set_states(self, states: bytes) -> None:
        """Restores what :meth:`get_states` gave.

        The bytes are a pickle, as in MXNet: unpickling can run code, so load only what you trust.

        Raises
        ------
        FileFormatError
            For bytes that are something else.
        """
        try:
            loaded = pickle.loads(states)
            found, optimizer = loaded if isinstance(loaded, tuple) else (loaded, None)
            if not isinstance(found, dict):
                raise ValueError(f"expected a dict of states, found {type(found).__name__}")
            if not isinstance(optimizer, (Optimizer, type(None))):
                raise ValueError(f"expected an optimizer, found {type(optimizer).__name__}")
        except Exception as error:  # bytes that are no pickle raise anything
            raise FileFormatError(
                f"these are not the saved states of an optimizer: {error}"
            ) from error
        self.states, self._loaded = found, set(found)
        if optimizer is not None:
            self.optimizer = optimizer


def _placed(state: Any, context: Context) -> Any:
    """A loaded state beside its weight."""
    if isinstance(state, NDArray):
        return state.as_in_context(context)
    if isinstance(state, (list, tuple)):
        return type(state)(_placed(part, context) for part in state)
    return state


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater that applies `optimizer`, for a key-value store or a loop of your own."""
    return Updater(optimizer)
