"""Calls of public functions, classes and methods with arguments of any type."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any

from draw import Draw
from limits import Case

import ferromix as mx
from ferromix import test_utils
from ferromix.ops import card

MODULES = (
    *(mx.nd, mx.nd.random, mx.sym, mx.random, mx.io, mx.recordio, mx.metric, mx.initializer),
    *(mx.lr_scheduler, mx.optimizer, mx.context, mx.autograd, mx.kvstore, mx.model, mx.callback),
    *(mx.engine, mx.profiler, mx.storage, mx.resource, mx.runtime),
    # The others of test_utils make arrays as large as they are told, or change the process.
    *(test_utils.compare, test_utils.consistency, test_utils.graphs, test_utils.statistics),
    test_utils.tolerance,
)
# What changes the process for good, or goes on by itself after it has returned.
LEFT_OUT = {
    "set_limit",
    "set_state",
    "profiler_set_state",
    "start",
    "stop",
    "notify_shutdown",
    "set_num_threads_per_worker",
    "resume",
    "set_config",
    "profiler_set_config",
    "register",
    "alias",
    "threads",
    "push_async",
}
# What is there for the package's other modules.
INTERNAL = {"as_context", "invoke", "placement", "require_cpu", "spelled"}
DUNDERS = (
    *("__getitem__", "__setitem__", "__add__", "__rsub__", "__mul__", "__truediv__", "__pow__"),
    *("__mod__", "__eq__", "__lt__", "__iadd__", "__imul__", "__bool__", "__len__", "__int__"),
    *("__float__", "__iter__", "__contains__", "__reduce__", "__copy__"),
)


def _is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("ferromix")


def _functions() -> dict[str, Callable[..., Any]]:
    """The public functions and classes that are not generated from cards, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
        for name in names:
            value = getattr(module, name, None)
            if name in LEFT_OUT | INTERNAL or not callable(value) or not _is_ours(value):
                continue
            if module in (mx.nd, mx.sym) and card.exists(name):
                continue
            # Calling an enumeration with more than a value makes a new one: Python's business.
            if not (inspect.isclass(value) and issubclass(value, (Exception, enum.Enum))):
                found[f"{module.__name__}.{name}"] = value
    return found


def _methods(kind: type) -> list[str]:
    """The public methods of a class, and what Python's signs call."""
    plain = [n for n in dir(kind) if n[0] != "_" and not card.exists(n)]
    return plain + [n for n in DUNDERS if hasattr(kind, n)]


def _objects() -> dict[str, Callable[[Draw], Any]]:
    """Things whose methods are called."""
    weights = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return {
        "NDArray": lambda draw: draw.array(),
        "Symbol": lambda _: weights,
        "Executor": lambda _: weights.simple_bind(mx.cpu(), data=(2, 4)),
        "NDArrayIter": lambda _: mx.io.NDArrayIter(mx.nd.ones((4, 2)), mx.nd.ones((4,)), 2),
        "ResizeIter": lambda _: mx.io.ResizeIter(mx.io.NDArrayIter(mx.nd.ones((4, 2))), 3),
        "PrefetchingIter": lambda _: mx.io.PrefetchingIter(mx.io.NDArrayIter(mx.nd.ones((4, 2)))),
        "Accuracy": lambda _: mx.metric.Accuracy(),
        "TopKAccuracy": lambda _: mx.metric.TopKAccuracy(top_k=2),
        "CrossEntropy": lambda _: mx.metric.CrossEntropy(),
        "Xavier": lambda _: mx.initializer.Xavier(),
        "FactorScheduler": lambda _: mx.lr_scheduler.FactorScheduler(step=2),
        "SGD": lambda _: mx.optimizer.SGD(),
        "Adam": lambda _: mx.optimizer.Adam(),
        "KVStore": lambda _: mx.kvstore.create("local"),
        "Context": lambda _: mx.cpu(),
    }


FUNCTIONS = sorted(_functions().items())
OBJECTS = sorted(_objects().items())


def _arguments(draw: Draw, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Some for its parameters, by place and by name."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    required = sum(
        p.default is p.empty and p.kind is not p.VAR_KEYWORD and p.name != "self"
        for p in parameters
    )
    count = max(0, min(required, 4) + draw.one((-1, 0, 0, 0, 1, 2)))
    named = [p.name for p in parameters if p.default is not p.empty]
    words = {draw.one(named): draw.odd() for _ in range(draw.one((0, 0, 1, 2)))} if named else {}
    return [draw.odd() for _ in range(count)], words


def _show(values: list[Any], words: dict[str, Any]) -> str:
    given = [repr(v)[:80].replace("\n", " ") for v in values]
    return ", ".join([*given, *[f"{k}={repr(v)[:80]}" for k, v in words.items()]])


def _comparing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of mx.test_utils, of which AssertionError is an answer."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(AssertionError):
            return function(*args, **kwargs)

    return run


def _finish(found: Any) -> Any:
    """Reads what is made step by step, a little way."""
    if inspect.isgenerator(found):
        return next(found, None)
    return found


def case(draw: Draw) -> Case:
    """A call of any function or method."""
    if draw.maybe():
        name, function = draw.one(FUNCTIONS)
    else:
        kind, make = draw.one(OBJECTS)
        owner = make(draw)
        method = draw.one(_methods(type(owner)))
        name, function = f"{kind}.{method}", getattr(owner, method)
        if not callable(getattr(type(owner), method)):
            return Case(lambda: function, lambda: name)
    if ".test_utils." in name:
        function = _comparing(function)
    values, words = _arguments(draw, function)
    return Case(
        lambda: _finish(function(*values, **words)),
        lambda: f"{name}({_show(values, words)})",
    )
