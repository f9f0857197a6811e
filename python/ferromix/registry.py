"""Classes found by name: the one mechanism behind initializers, optimizers and metrics.

Names are matched without regard to case. What can be created by name can also be written to JSON
as ``["name", {arguments}]``, which is how a variable remembers its initializer, or as a dict.
"""

from __future__ import annotations

import difflib
import json
import reprlib
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .error import ArgumentTypeError, InvalidArgumentError
from .literal import brief

__all__ = ["Registry", "get_alias_func", "get_create_func", "get_register_func", "get_registry"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


_registries: dict[type, Registry[Any]] = {}


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
        _registries[base] = self

    @property
    def table(self) -> dict[str, type[T]]:
        """The classes by their names in lower case, as they are looked up."""
        return self._classes

    def classes(self) -> dict[str, type[T]]:
        """The classes by their names in lower case; a copy."""
        return dict(self._classes)

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

    def create(self, *args: Any, **kwargs: Any) -> T:
        """An instance from a name with arguments, a dict, JSON, or an instance, which it returns.

        A dict has the name under the kind of the entry, as in ``{"metric": "acc"}``, beside the
        arguments, and so have keywords alone. JSON is of such a dict, or of
        ``["name", {arguments}]``.

        Raises
        ------
        InvalidArgumentError
            For an unknown name, for something that is neither, and for arguments beside an
            instance, a dict or JSON, which have their own.
        """
        return self.create_as(self._kind, args, kwargs)

    def create_as(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        """As :meth:`create`, with names in dicts and keywords under `key`."""
        if not args:
            if key not in kwargs:
                raise ArgumentTypeError(f"there is no {key} among the arguments")
            kwargs = dict(kwargs)
            args = (kwargs.pop(key),)
        spec, *rest = args
        if isinstance(spec, str) and not spec.startswith(("{", "[")):
            return self.find(spec)(*rest, **kwargs)
        if rest or kwargs:
            raise InvalidArgumentError(
                f"{self._kind}: further arguments are for creation by name only, "
                f"got {rest + list(kwargs)}"
            )
        if isinstance(spec, self._base):
            return spec
        if isinstance(spec, str):
            name, kwargs = self._parse(key, spec)
            return self.create_as(key, (name,), kwargs)
        if isinstance(spec, dict):
            return self.create_as(key, (), spec)
        raise InvalidArgumentError(
            f"{self._kind} must be a name or a {self._base.__name__}, got {spec!r}"
        )

    def _parse(self, key: str, text: str) -> tuple[str, dict[str, Any]]:
        """The name and the arguments that JSON has."""
        try:
            found = json.loads(text)
            name, kwargs = (found.pop(key), found) if isinstance(found, dict) else found
            if isinstance(name, str) and isinstance(kwargs, dict):
                return name, kwargs
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise InvalidArgumentError(
            f'{self._kind} as JSON must read ["name", {{arguments}}], or '
            f'{{"{key}": "name", arguments}}, got {brief(text)}'
        ) from None


def _is_subclass(klass: object, base: type) -> bool:
    return isinstance(klass, type) and issubclass(klass, base)


def _registry(base_class: type[T], nickname: str = "") -> Registry[T]:
    if not isinstance(base_class, type):
        raise ArgumentTypeError(f"base_class must be a class, got {brief(base_class)}")
    return _registries.get(base_class) or Registry(base_class, nickname or base_class.__name__)


def get_registry(base_class: type[T]) -> dict[str, type[T]]:
    """The classes that were registered for a base, by their names in lower case; a copy.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.registry.get_registry(mx.init.Initializer)["xavier"].__name__
    'Xavier'
    """
    return _registry(base_class).classes()


def get_register_func(base_class: type[T], nickname: str) -> Callable[..., type[T]]:
    """A function that registers subclasses of a base, under their names or a second argument.

    A name that is taken goes to the new class, with a warning.

    Parameters
    ----------
    base_class
        The class that all entries derive from.
    nickname
        What an entry is called in messages.

    Examples
    --------
    >>> import ferromix as mx
    >>> class Shape: ...
    >>> register = mx.registry.get_register_func(Shape, "shape")
    >>> @register
    ... class Round(Shape): ...
    >>> mx.registry.get_create_func(Shape, "shape")("round")  # doctest: +ELLIPSIS
    <...Round object at 0x...>
    """
    registry = _registry(base_class, nickname)

    def register(klass: type[T], name: str | None = None) -> type[T]:
        key = (getattr(klass, "__name__", "") if name is None else name).lower()
        taken = registry.classes().get(key)
        registry.alias(key)(klass)
        if taken is not None:
            warnings.warn(
                f"the {nickname} {klass.__module__}.{klass.__name__} takes the name {key} of "
                f"{taken.__module__}.{taken.__name__}",
                UserWarning,
                stacklevel=2,
            )
        return klass

    return register


def get_alias_func(
    base_class: type[T], nickname: str
) -> Callable[..., Callable[[type[T]], type[T]]]:
    """A decorator with names, under which it registers subclasses of a base.

    The arguments are those of `get_register_func`.
    """
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[type[T]], type[T]]:
        def enter(klass: type[T]) -> type[T]:
            for name in aliases:
                register(klass, name)
            return klass

        return enter

    return alias


def get_create_func(base_class: type[T], nickname: str) -> Callable[..., T]:
    """A function that makes instances from names and arguments.

    It takes a name with arguments, positionally or as the keyword `nickname`; a dict of these; JSON
    of such a dict, or of ``["name", {arguments}]``; or an instance, which it returns. The arguments
    are those of `get_register_func`.
    """
    registry = _registry(base_class, nickname)

    def create(*args: Any, **kwargs: Any) -> T:
        return registry.create_as(nickname, args, kwargs)

    return create
