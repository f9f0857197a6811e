"""Whether the calling thread records and trains."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from .. import _core

__all__ = [
    "is_recording",
    "is_training",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def is_recording() -> bool:
    """Whether operations of this thread are recorded."""
    return _core.is_recording()


def is_training() -> bool:
    """Whether operations of this thread train, which matters to Dropout and BatchNorm."""
    return _core.is_training()


def set_recording(is_recording: bool) -> bool:
    """Says whether operations of this thread are recorded, and returns what was so before."""
    return _core.set_recording(bool(is_recording))


def set_training(train_mode: bool) -> bool:
    """Says whether operations of this thread train, and returns what was so before."""
    return _core.set_training(bool(train_mode))


class _Scope:
    """Sets one or both for a block, and puts back what was before; blocks may nest."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._wanted = recording, training
        self._before: list[tuple[bool | None, bool | None]] = []

    def __enter__(self) -> None:
        recording, training = self._wanted
        self._before.append(
            (
                None if recording is None else _core.set_recording(recording),
                None if training is None else _core.set_training(training),
            )
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recording, training = self._before.pop()
        if recording is not None:
            _core.set_recording(recording)
        if training is not None:
            _core.set_training(training)


def record(train_mode: bool = True) -> AbstractContextManager[None]:
    """A block whose operations are recorded.

    Parameters
    ----------
    train_mode
        Whether they also train.

    Examples
    --------
    >>> import ferromix as mx
    >>> with mx.autograd.record(train_mode=False):
    ...     mx.autograd.is_recording(), mx.autograd.is_training()
    (True, False)
    """
    return _Scope(True, bool(train_mode))


def pause(train_mode: bool = False) -> AbstractContextManager[None]:
    """A block, inside of a recorded one, whose operations are not recorded.

    Parameters
    ----------
    train_mode
        Whether they train.
    """
    return _Scope(False, bool(train_mode))


def train_mode() -> AbstractContextManager[None]:
    """A block whose operations train, recorded or not."""
    return _Scope(None, True)


def predict_mode() -> AbstractContextManager[None]:
    """A block whose operations predict, recorded or not."""
    return _Scope(None, False)
