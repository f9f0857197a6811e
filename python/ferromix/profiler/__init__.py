"""Profiling: what was pushed, ran and waited when, and on which thread.

While the profiler runs, every operation of the engine is recorded: its push, its run, its queue and
its thread; also functions pushed from Python, waits, and what a program marks itself with tasks,
frames, events, counters and markers. `dump` writes it as a Chrome trace, which Perfetto
(https://ui.perfetto.dev) and ``chrome://tracing`` show; `dumps` gives a table of times by name.

The memory of a recording is bounded: about two million operations are kept. When the profiler does
not run, an operation pays for it a nanosecond or less. ``MXNET_PROFILER_AUTOSTART=1`` starts it
with the process; a profiler that still runs when the process ends writes its file then.

Examples
--------
>>> import ferromix as mx
>>> mx.profiler.set_state("run")
>>> a = mx.nd.ones((8, 8))
>>> b = mx.nd.dot(a, a)
>>> b.wait_to_read()
>>> mx.profiler.set_state("stop")
>>> "dot" in mx.profiler.dumps(reset=True)
True
"""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from .. import _core
from ..error import InvalidArgumentError, MXNetError
from ..files import access
from ..storage import stats
from . import table
from .marks import Counter, Domain, Event, Frame, Marker, Span, Task
from .table import MEMORY, Row

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
    "start",
    "state",
    "stop",
]

_FLAGS = (
    "profile_all",
    "profile_symbolic",
    "profile_imperative",
    "profile_memory",
    "profile_api",
    "aggregate_stats",
    "continuous_dump",
)
_SECTIONS = {
    "operation": "operator",
    "python": "Python functions",
    "wait": "Waits",
    "delete": "Deletions",
}
_SORTS = {"total": 3, "avg": 3, "min": 4, "max": 5, "count": 2}
_SAMPLE_EVERY = 0.01


@dataclass
class _Settings:
    filename: str = "profile.json"
    dump_period: float = 1.0
    profile_memory: bool = False
    aggregate_stats: bool = False
    continuous_dump: bool = False


class _Profiler:
    """The state of the process's profiler."""

    def __init__(self) -> None:
        self.settings = _Settings()
        self.running = False
        self.paused = False
        self.recorded = False
        self.ever = False
        self.finished = False
        self.memory: list[int] = []
        self.quit: threading.Event | None = None

    def run(self) -> None:
        if self.running:
            return
        if self.recorded and not self.finished:
            _core.profiler_resume()
        else:
            _core.profiler_start()
            self.memory = []
        self.running, self.recorded, self.finished, self.paused = True, True, False, False
        self.ever = True
        self.start_ticking()

    def start_ticking(self) -> None:
        """Starts the thread that samples and dumps, if the settings call for it."""
        if self.settings.profile_memory or self.settings.continuous_dump:
            self.quit = threading.Event()
            thread = threading.Thread(target=self.tick, args=(self.quit,), daemon=True)
            thread.name = "fmx-profiler"
            thread.start()

    def stop(self) -> None:
        if not self.running:
            return
        self.sample()
        _core.profiler_pause()
        self.running = False
        self.stop_ticking()

    def stop_ticking(self) -> None:
        if self.quit is not None:
            self.quit.set()
            self.quit = None

    def tick(self, quit: threading.Event) -> None:
        """Samples the memory in use, and dumps from time to time."""
        every = _SAMPLE_EVERY if self.settings.profile_memory else self.settings.dump_period
        elapsed = 0.0
        while not quit.wait(every):
            elapsed += every
            if not self.paused:
                self.sample()
            if self.settings.continuous_dump and elapsed >= self.settings.dump_period:
                elapsed = 0.0
                self.write()

    def sample(self) -> None:
        """Takes note of the memory in use, if the settings ask for it."""
        if self.settings.profile_memory:
            used = stats()["in_use"]
            self.memory.append(used)
            del self.memory[:-1_000_000]
            _core.profiler_count("memory", MEMORY, used)

    def write(self) -> None:
        with access(self.settings.filename):
            _, dropped = _core.profiler_write(self.settings.filename)
        if dropped:
            message = f"the profile is full: {dropped} events are not in it; dump more often"
            warnings.warn(message, RuntimeWarning, stacklevel=3)

    def forget(self) -> None:
        running = self.running
        self.stop()
        _core.profiler_forget()
        self.recorded, self.memory = False, []
        if running:
            self.run()


_profiler = _Profiler()


def set_config(**kwargs: object) -> None:
    """Configures the profiler, at once if it runs; what is not given keeps its setting.

    Parameters
    ----------
    filename
        Where `dump` writes; ``profile.json`` by default.
    profile_all, profile_symbolic, profile_imperative, profile_api
        Accepted, as in MXNet. All operations, pushes and waits are recorded in any case: they go
        into buffers of their threads, and leaving some out would save next to nothing.
    profile_memory
        Also sample the pool's memory in use, every 10 ms and at the end. `profile_all` switches it
        on, too.
    aggregate_stats
        Accepted, as in MXNet; the table of `dumps` is there in any case.
    continuous_dump, dump_period
        Also write the file every `dump_period` seconds (1 by default).
    profile_process
        ``worker``; there is no other process.

    Raises
    ------
    InvalidArgumentError
        A setting that does not exist.
    """
    settings = replace(_profiler.settings)
    for name, value in kwargs.items():
        if name == "filename":
            settings.filename = os.fspath(value)  # pyright: ignore
        elif name == "dump_period":
            settings.dump_period = max(float(value), _SAMPLE_EVERY)  # pyright: ignore
        elif name == "profile_process":
            _check_process(str(value))
        elif name not in _FLAGS:
            known = ", ".join(["filename", "dump_period", "profile_process", *_FLAGS])
            raise InvalidArgumentError(f"there is no setting '{name}'; there are: {known}")
        elif name == "profile_all":
            settings.profile_memory = bool(value)
        elif hasattr(settings, name):
            setattr(settings, name, bool(value))
    _profiler.settings = settings
    if _profiler.running:
        _profiler.stop_ticking()
        _profiler.start_ticking()


def _check_process(name: str) -> None:
    if name != "worker":
        raise InvalidArgumentError(f"profile_process must be 'worker', got '{name}'")


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts (``run``) or stops (``stop``) the profiler.

    Starting again goes on with the recording, unless `dump` finished it.
    """
    _check_process(profile_process)
    if state not in ("run", "stop"):
        raise InvalidArgumentError(f"the state must be 'run' or 'stop', got '{state}'")
    if state == "run":
        _profiler.run()
    else:
        _profiler.stop()


def state() -> str:
    """``run`` or ``stop``."""
    return "run" if _profiler.running else "stop"


def start(profile_process: str = "worker") -> None:
    """Starts the profiler."""
    set_state("run", profile_process)


def stop(profile_process: str = "worker") -> None:
    """Stops the profiler."""
    set_state("stop", profile_process)


def pause(profile_process: str = "worker") -> None:
    """Records nothing until `resume`."""
    _check_process(profile_process)
    if _profiler.running:
        _profiler.paused = True
        _core.profiler_pause()


def resume(profile_process: str = "worker") -> None:
    """Goes on after `pause`."""
    _check_process(profile_process)
    if _profiler.running:
        _profiler.paused = False
        _core.profiler_resume()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes what was recorded to the configured file, as a Chrome trace.

    Operations that are pending are not in it: wait for them before.

    Parameters
    ----------
    finished
        Also stop the profiler. What is recorded later is a new profile.
    """
    _check_process(profile_process)
    if not _profiler.ever:
        raise MXNetError("there is no profile to write; call mx.profiler.set_state('run') first")
    if not _profiler.recorded:  # Forgotten since: an empty one.
        _core.profiler_start()
        _core.profiler_pause()
    if finished:
        _profiler.stop()
        _profiler.finished = True
    _profiler.write()


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """The times of what was recorded, by name.

    Parameters
    ----------
    reset
        Also forget what was recorded.
    format
        ``table`` or ``json``.
    sort_by
        ``total``, ``avg``, ``min``, ``max`` or ``count``.
    ascending
        The smallest first.
    """
    if format not in ("table", "json"):
        raise InvalidArgumentError(f"the format must be 'table' or 'json', got '{format}'")
    if sort_by not in _SORTS:
        raise InvalidArgumentError(f"sort_by must be one of {', '.join(_SORTS)}, got '{sort_by}'")

    def key(row: Row) -> float:
        return row[3] / row[2] if sort_by == "avg" else float(row[_SORTS[sort_by]])

    sections: dict[str, list[Row]] = {}
    for row in sorted(_core.profiler_summary(), key=key, reverse=not ascending):
        sections.setdefault(_SECTIONS.get(row[0], row[0]), []).append(row)
    memory = [used / 1000 for used in _profiler.memory]
    if reset:
        _profiler.forget()
    if format == "json":
        return table.as_json(sections, memory)
    return table.as_table(sections, memory)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Marks the time of a ``with`` block."""
    with Span("scope", name):
        yield


def set_kvstore_handle(handle: object) -> None:
    """Accepted, as in MXNet, whose servers a worker profiles through the handle; there are none."""


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """The old name of `set_config`."""
    if mode not in ("symbolic", "all"):
        raise InvalidArgumentError(f"the mode must be 'symbolic' or 'all', got '{mode}'")
    set_config(filename=filename, profile_all=mode == "all")


def profiler_set_state(state: str = "stop") -> None:
    """The old name of `set_state`."""
    set_state(state)


def dump_profile() -> None:
    """The old name of `dump`."""
    dump(True)


def _at_exit() -> None:
    if _profiler.running and not _profiler.finished:
        dump(True)


atexit.register(_at_exit)
if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") not in ("", "0"):
    set_state("run")
