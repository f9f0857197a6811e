"""Random values from a seed: sensible ones, extreme ones, and ones of the wrong type."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import ferromix as mx

DTYPES = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool", "bfloat16")
SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (0,), (1,), (3,), (5,), (2, 3), (3, 3), (0, 3), (4, 0), (1, 6)),
    *((2, 3, 4), (2, 0, 4), (1, 2, 5, 5), (2, 4, 6, 6), (1, 1, 1, 1), (2, 2, 3, 4, 4)),
)
INTEGERS = (
    *(-1, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, 2**70, -(2**70)),
    *(10**12, 10**30, 30_000_000, 65_537, 4_096),
)
FLOATS = (float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 1e300, 5e-324, 0.5, -0.0)
WORDS = (
    *("", " ", "x", "None", "True", "false", "nan", "0", "-1", "1e30", "write", "cpu", "add"),
    "\u00e9\0",
)
LONG = (
    *("-" * 100_000 + "1", "1" * 100_000, "(" * 1_000, "[" * 100_000, "(" + "1," * 50_000 + ")"),
    *("9" * 5_000, "1e999999999", "((((1))))", "{" * 500, "'" * 999, "x" * 100_000, "1 " * 9_999),
)


class Nothing:
    """An object that can do nothing."""

    def __repr__(self) -> str:
        return "Nothing()"


def _selfish() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = [1]
    found.append(found)
    return found


def _arrays() -> list[Callable[[], Any]]:
    """NumPy arrays of odd element types and layouts."""
    return [
        lambda: np.array([1, "x", None], dtype=object),
        lambda: np.array(["a", "bc"]),
        lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
        lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
        lambda: np.array([1 + 2j]),
        lambda: np.array(3),
        lambda: np.array(2.5),
        lambda: np.array([2, 3]),
        lambda: np.array([1.5, np.nan], dtype="float16"),
        lambda: np.zeros((0, 3)),
        lambda: np.arange(12.0).reshape(3, 4)[::-1, ::2],
        lambda: np.array([[True, False]]),
        lambda: np.array([2**63], dtype="uint64"),
        lambda: np.zeros((1,) * 40) if np.__version__ >= "2" else np.zeros((1,) * 30),
        lambda: np.float32(3),
        lambda: np.int64(-2),
        lambda: np.bool_(True),
    ]


def _others() -> list[Callable[[], Any]]:
    """Values of other types."""
    return [
        lambda: None,
        lambda: True,
        lambda: [],
        lambda: (),
        lambda: {},
        lambda: {"a": 1, 3: None},
        lambda: {1, 2},
        lambda: b"x",
        lambda: bytearray(3),
        Nothing,
        _selfish,
        lambda: [[1, 2], [3]],
        lambda: [[[1]]],
        lambda: (2, (3, None)),
        lambda: ("2", "3"),
        lambda: (2, -1),
        lambda: (2**40, 2**40),
        lambda: (2**62, 4, 0),
        lambda: [1.5, None],
        lambda: range(3),
        lambda: slice(None, None, -1),
        lambda: slice(2**70, None, 0),
        lambda: Ellipsis,
        lambda: 3 + 2j,
        lambda: len,
        lambda: float,
        lambda: np.float16,
        lambda: iter([1, 2]),
        mx.cpu,
        lambda: mx.gpu(0),
        lambda: mx.sym.Variable("x"),
        lambda: mx.sym.Group([mx.sym.Variable("x"), mx.sym.Variable("y")]),
        lambda: [mx.nd.ones((2, 3)), mx.nd.zeros((2, 3))],
        lambda: {"a": mx.nd.ones((2,))},
    ]


class Draw:
    """Choices from a seed and a number: a case can be made again by itself."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed}:{number}")

    def one(self, options: Any) -> Any:
        """One of several."""
        return options[self.random.randrange(len(options))]

    def maybe(self, chance: float = 0.5) -> bool:
        """True so often."""
        return self.random.random() < chance

    def int(self, low: int, high: int) -> int:
        """A number, both ends included."""
        return self.random.randint(low, high)

    def extreme(self) -> Any:
        """A number or a text that is far from what is usual."""
        kind = self.int(0, 9)
        if kind < 5:
            return self.one(INTEGERS)
        if kind < 7:
            return self.one(FLOATS)
        return self.one(WORDS) if kind < 9 else self.one(LONG)

    def odd(self) -> Any:
        """A value of any type."""
        kind = self.int(0, 9)
        if kind < 3:
            return self.extreme()
        if kind < 5:
            return self.int(-2, 4)
        if kind < 7:
            return self.array()
        return self.one(OTHERS if kind < 9 else ARRAYS)()

    def shape(self) -> tuple[int, ...]:
        """A small shape, sometimes without elements."""
        return self.one(SHAPES)

    def array(self, shape: tuple[int, ...] | None = None) -> mx.nd.NDArray:
        """A small array."""
        shape = self.shape() if shape is None else shape
        dtype = "float32" if self.maybe(0.6) else self.one(DTYPES)
        return mx.nd.full(shape, self.int(0, 3), dtype=dtype)


ARRAYS, OTHERS = _arrays(), _others()
