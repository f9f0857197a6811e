"""What a program marks itself in a profile: stretches and points of time, and values."""

from __future__ import annotations

import threading

from .. import _core
from ..error import InvalidArgumentError, MXNetError


class Domain:
    """A heading for what a program marks."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A new `Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A new `Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A new `Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A new `Marker` of this domain."""
        return Marker(self, name)


class Span:
    """A stretch of time under a heading."""

    def __init__(self, domain: str, name: str) -> None:
        self.name = name
        self._span = _core.Span(domain, name)

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Begins the stretch of time."""
        self._span.start()

    def stop(self) -> None:
        """Ends it. It may begin again."""
        if not self._span.stop():
            raise MXNetError(f"'{self.name}' was stopped without having been started")

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class Task(Span):
    """A stretch of time, of some piece of work. Also usable in a ``with`` statement."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(str(domain), name)


class Frame(Span):
    """A stretch of time, one of a row of similar ones."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(f"{domain},frame", name)


class Event(Span):
    """A stretch of time that belongs to no domain."""

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter:
    """A value that changes over time. Supports ``+=`` and ``-=``."""

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.name, self._domain, self._value = name, str(domain), 0.0
        self._lock = threading.Lock()
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def _change(self, value: float, relative: bool) -> None:
        with self._lock:
            try:
                total = float(value) + (self._value if relative else 0)
                _core.profiler_count(self._domain, self.name, total)
            except OverflowError as error:
                raise InvalidArgumentError(f"counter {self.name}: {error}") from error
            self._value = total

    def set_value(self, value: float) -> None:
        """Sets the value."""
        self._change(value, False)

    def increment(self, delta: float = 1) -> None:
        """Adds to the value."""
        self._change(delta, True)

    def decrement(self, delta: float = 1) -> None:
        """Subtracts from the value."""
        self._change(-delta, True)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self


class Marker:
    """A point in time."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.name, self._domain = name, str(domain)

    def mark(self, scope: str = "process") -> None:
        """Marks this moment, on the calling thread. `scope` is accepted, as in MXNet."""
        scopes = ("global", "process", "thread", "task", "marker")
        if scope not in scopes:
            raise InvalidArgumentError(f"scope must be one of {', '.join(scopes)}, got '{scope}'")
        _core.profiler_mark(f"{self._domain},instant_marker", self.name)
