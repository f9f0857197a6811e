"""What makes a batch of samples, in this process, in a thread or in another process."""

from __future__ import annotations

import hashlib
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ... import engine
from ... import random as mx_random
from ...error import MXNetError
from ...util import is_np_shape, np_shape

__all__ = ["Fetch", "SeededFetch", "Task", "describe", "tasks"]

_SHOWN = 8


class Task(NamedTuple):
    """A batch to be made: its number in the epoch, its samples, and the seed of the epoch."""

    number: int
    samples: list[Any]
    seed: int


def tasks(batches: Iterable[Any], epoch: int) -> Iterator[Task]:
    """The tasks of an epoch.

    Their seed follows from NumPy's global generator, which is not drawn from, and the number of the
    epoch.
    """
    state = pickle.dumps((np.random.get_state(legacy=False), epoch))
    seed = int.from_bytes(hashlib.blake2b(state, digest_size=4).digest(), "little")
    return (Task(number, list(batch), seed) for number, batch in enumerate(batches))


def describe(task: Task) -> str:
    """What a task is, for messages."""
    shown = ", ".join(map(str, task.samples[:_SHOWN]))
    return f"batch {task.number} (samples {shown}{', ...' * (len(task.samples) > _SHOWN)})"


class Fetch:
    """Makes batches of a data set.

    Parameters
    ----------
    dataset
        The samples.
    batchify_fn
        Makes a batch of a list of samples.
    """

    def __init__(self, dataset: Any, batchify_fn: Callable[[list[Any]], Any]) -> None:
        self._dataset = dataset
        self._batchify_fn = batchify_fn
        self._np_shape = is_np_shape()  # of the thread that uses the batches

    def __call__(self, task: Task) -> Any:
        """The batch; what samples and functions raise has a note of the sample."""
        with np_shape(self._np_shape):
            samples = [self._sample(index, task) for index in task.samples]
            try:
                return self._batchify_fn(samples)
            except Exception as error:
                raise _told(error, f"batchify_fn of {describe(task)}")  # noqa: B904  the same one

    def _sample(self, index: Any, task: Task) -> Any:
        try:
            return self._dataset[index]
        except Exception as error:
            raise _told(error, f"sample {index} of batch {task.number}")  # noqa: B904  the same one


class SeededFetch(Fetch):
    """Makes batches in a worker process.

    What is random in transforms is so by the seed, whichever process makes the batch. Operators
    use one thread, as the processes are many.
    """

    def __call__(self, task: Task) -> Any:
        """The batch; see :class:`Fetch`."""
        np.random.seed((task.seed, task.number))
        random.seed(task.seed << 32 | task.number)
        mx_random.seed(task.seed << 32 | task.number)
        with engine.threads(1):
            return super().__call__(task)


def _told(error: Exception, what: str) -> Exception:
    """The error, which says what it was raised for."""
    if isinstance(error, StopIteration):
        # It would end the epoch.
        error = MXNetError(f"StopIteration was raised: {error}")
    error.add_note(f"DataLoader: raised for {what}")
    return error
