"""An optimizer together with what it remembers of each parameter."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from ..context import Context
from ..error import FileFormatError
from ..ndarray import NDArray
from . import foreign
from .rule import Index, Optimizer

__all__ = ["Updater", "get_updater", "pack_states"]


class States(dict[Index, Any]):
    """States by index, as saved without the optimizer, and what that has counted.

    Without the counts, training that goes on would begin warm-ups and corrections of bias anew.
    """

    progress: dict[str, Any]


class Updater:
    """Applies an optimizer; called with index, gradient and weight.

    Parameters
    ----------
    optimizer
        The rule.

    Attributes
    ----------
    states
        What is remembered, by index.
    states_synced
        By index, whether a state is on its weight's device; loaded ones move there when they are
        used.

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
        self.states_synced: dict[Index, bool] = {}

    def __call__(
        self,
        index: Index | Sequence[Index],
        grad: NDArray | Sequence[NDArray],
        weight: NDArray | Sequence[NDArray],
    ) -> None:
        """Updates one parameter, or each of a list of them."""
        indices: Any = index if isinstance(index, (list, tuple)) else [index]
        grads = [grad] if isinstance(grad, NDArray) else grad
        weights = [weight] if isinstance(weight, NDArray) else weight
        optimizer, states = self.optimizer, self.states
        if weights:
            optimizer._set_current_context(weights[0].context.device_id)
        for i, w in zip(indices, weights, strict=True):
            if i not in states:
                states[i] = optimizer.create_state_multi_precision(i, w)
            elif not self.states_synced.get(i, True):
                states[i] = _placed(states[i], w.context)
            self.states_synced[i] = True
        if optimizer.aggregate_num > 0:
            self._update_together(list(zip(indices, weights, grads, strict=True)))
            return
        for i, g, w in zip(indices, grads, weights, strict=True):
            optimizer.update_multi_precision(i, w, g, states[i])

    def _update_together(self, given: list[tuple[Index, NDArray, NDArray]]) -> None:
        """Hands parameters over several at once, all of one type."""
        by_type: dict[str, list[tuple[Index, NDArray, NDArray]]] = {}
        for entry in given:
            by_type.setdefault(entry[1].dtype_name, []).append(entry)
        count = self.optimizer.aggregate_num
        for entries in by_type.values():
            for first in range(0, len(entries), count):
                indices, weights, grads = zip(*entries[first : first + count], strict=True)
                states = [self.states[i] for i in indices]
                update: Any = self.optimizer.update_multi_precision
                update(indices, weights, grads, states)

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """A state on a device: an array, or a list or tuple of such."""
        return _placed(state, context)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Everything remembered, as bytes for :meth:`set_states`.

        Parameters
        ----------
        dump_optimizer
            Whether to include the optimizer; its counts of updates are there in any case.
        """
        return pack_states(self.states, self.optimizer, dump_optimizer)

    def set_states(self, states: bytes) -> None:
        """Restores what :meth:`get_states` gave.

        Those of MXNet are taken, too; of an optimizer in them, the counts of updates.

        The bytes are a pickle, as in MXNet: unpickling can run code, so load only what you trust.

        Raises
        ------
        FileFormatError
            For bytes that are something else.
        """
        try:
            loaded = foreign.loads(states)
            found, optimizer = loaded if isinstance(loaded, tuple) else (loaded, None)
            if not isinstance(found, dict):
                raise ValueError(f"expected a dict of states, found {type(found).__name__}")
            if not isinstance(optimizer, (Optimizer, foreign.Shell, type(None))):
                raise ValueError(f"expected an optimizer, found {type(optimizer).__name__}")
        except Exception as error:  # bytes that are no pickle raise anything
            raise FileFormatError(
                f"these are not the saved states of an optimizer: {error}"
            ) from error
        self.states, self.states_synced = found, dict.fromkeys(found, False)
        if isinstance(optimizer, foreign.Shell):
            self.optimizer.go_on(optimizer.state)
        elif optimizer is not None:
            self.optimizer = optimizer
        elif isinstance(found, States):
            self.optimizer.go_on(found.progress)


def pack_states(states: dict[Index, Any], optimizer: Optimizer, dump_optimizer: bool) -> bytes:
    """States as bytes for :meth:`Updater.set_states`, with their optimizer or its counts."""
    if dump_optimizer:
        return pickle.dumps((states, optimizer))
    saved = States(states)
    saved.progress = optimizer.progress()
    return pickle.dumps(saved)


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
