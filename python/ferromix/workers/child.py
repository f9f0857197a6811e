"""What a worker process does: one task after the other, until nobody sends any more."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from typing import Any

from ..error import MXNetError
from .parcel import Arrival, Parcel

__all__ = ["serve"]


def serve(tasks: Connection, number: int) -> None:
    """The life of a worker: the function comes first, then the tasks, and each gets an answer."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    worker = _Worker(f"worker {number} (process {os.getpid()})")
    while True:
        try:
            answer = worker.answer(Arrival(tasks))
        except (EOFError, OSError):
            return
        try:
            answer.send(tasks)
        except OSError:
            return
        finally:
            answer.close()
        # The process may be killed before it would do so at its end.
        sys.stdout.flush()
        sys.stderr.flush()


class _Worker:
    def __init__(self, name: str) -> None:
        self._name = name
        self._run: Callable[[Any], Any] | None = None

    def answer(self, arrived: Arrival) -> Parcel:
        """What came of a task: true and the result, or false and the error."""
        try:
            task = arrived.open()
            if self._run is None:
                self._run = task
                return Parcel((True, None))
            return Parcel((True, self._run(task)))
        except BaseException as error:
            return Parcel((False, _portable(error, self._name)))


def _portable(error: BaseException, name: str) -> BaseException:
    """The error as it can be pickled, with its traceback in a note."""
    lines = "".join(traceback.format_exception(error))
    note = f"In {name}:\n{lines.rstrip()}"
    try:
        error.add_note(note)
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = MXNetError(f"{type(error).__qualname__}: {error}")
        error.add_note(note)
    return error


def _end_with_parent() -> None:
    """Ends the process, whatever it does, when the one that started it is gone."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
