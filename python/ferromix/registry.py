"""Classes found by name: the one mechanism behind initializers, optimizers and metrics.

Names are matched without regard to case. What can be created by name can also be written to JSON
as ``["name", {arguments}]``, which is how a variable remembers its initializer.
"""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .error import InvalidArgumentError
from .literal import brief

__all__ = ["Registry"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """Classes with a common base, under their names and aliases.

    Parameters
    ----------
    base
        The class that all entries derive from.
    kind
        What an entry is called in messages.
    """

    def __init__(self, base: type[T], kind: str) -> None:
        self._base = base
        self._kind = kind
        self._classes: dict[str, type[T]] = {}

    def register(self, klass: C) -> C:
        """Enters a class under its own name; for use as a decorator. A later one replaces it."""
        return self.alias(getattr(klass, "__name__", ""))(klass)

    def alias(self, *names: str) -> Callable[[C], C]:
        """A decorator that enters a class under `names`."""

        def enter(klass: C) -> C:
            if not _is_subclass(klass, self._base):
                given = getattr(klass, "__name__", reprlib.repr(klass))
                raise InvalidArgumentError(
                    f"{given} is not a subclass of {self._base.__name__}, "
                    f"so it cannot be registered as {self._kind}"
                )
            checked: Any = klass
            for name in names:
                self._classes[name.lower()] = checked
            return klass

        return enter

    def find(self, name: str) -> type[T]:
        """The class registered under `name`.

        Raises
        ------
        InvalidArgumentError
            For an unknown name; the message lists the nearest, or all.
        """
        found = self._classes.get(name.lower())
        if found is None:
            near = difflib.get_close_matches(name.lower(), self._classes, n=3)
            known = ", ".join(near or sorted(self._classes))
            hint = "did you mean" if near else "known:"
            raise InvalidArgumentError(f"unknown {self._kind} '{name}'; {hint} {known}")
        return found

    def create(self, spec: T | str, *args: Any, **kwargs: Any) -> T:
        """An instance from a name, from JSON, or `spec` itself if it is one already.

        Raises
        ------
        InvalidArgumentError
            For an unknown name, for something that is neither, and for arguments beside an
            instance or beside JSON, which has its own.
        """
        if isinstance(spec, self._base):
            self._refuse_arguments(args, kwargs)
            return spec
        if not isinstance(spec, str):
            raise InvalidArgumentError(
                f"{self._kind} must be a name or a {self._base.__name__}, got {spec!r}"
            )
        if spec.startswith("["):
            self._refuse_arguments(args, kwargs)
            name, kwargs = self._parse(spec)
            return self.find(name)(**kwargs)
        return self.find(spec)(*args, **kwargs)

    def _refuse_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args or kwargs:
            raise InvalidArgumentError(
                f"{self._kind}: further arguments are for creation by name only, "
                f"got {list(args) + list(kwargs)}"
            )

    def _parse(self, text: str) -> tuple[str, dict[str, Any]]:
        try:
            name, kwargs = json.loads(text)
            if not isinstance(name, str) or not isinstance(kwargs, dict):
                raise ValueError
        except (ValueError, RecursionError):
            raise InvalidArgumentError(
                f'{self._kind} as JSON must read ["name", {{arguments}}], got {brief(text)}'
            ) from None
        return name, kwargs


def _is_subclass(klass: object, base: type) -> bool:
    return isinstance(klass, type) and issubclass(klass, base)
