"""The rows of the tables of cases: an operator, its attributes, its inputs and its oracle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

from ferromix.ops.card import OperatorProperty, make

EDGES = ((), (1,), (7,), (0, 3), (2, 0, 4))
"""Also a 0-d shape, and some without elements; for operators that take any."""


@dataclass(frozen=True)
class Case:
    """What is run and what is expected.

    A module of cases has a list of them, ``CASES``, and may have another of :class:`Refused`.

    Parameters
    ----------
    op
        MXNet's name.
    oracle
        From inputs (and states) as float64 arrays, the visible outputs; independent of Ferromix.
    shapes
        The shapes of the arguments, then of the auxiliary states.
    attrs
        The attributes.
    domain
        Where inputs are drawn from: one word for all, or one for each.
    dtypes
        Element types to try; those that the card claims where None.
    train
        Whether to train or to predict.
    gradient
        For losses, whose gradient is not the derivative: from inputs and the gradient of the first
        output, the gradients of the arguments (None where there is none).
    steps
        How many roundings add up in an output.
    smooth
        Whether finite differences see the gradient.
    heads
        How many of the outputs have a gradient that flows back.
    fixed
        Arguments that have no gradient and that finite differences leave alone: indices, masks.
    mixed
        For each input its own element type, or None for the one that is tried; empty where all
        have that one.
    results
        The element type of the outputs where it is not the one that is tried (or that the
        attribute `dtype` gives): a type, one for each that is tried, or one for each output, with
        None for the one that is tried.
    orders
        How often the operator can be differentiated.
    edge
        Whether it is there for the way through memory (empty, 0-d, broadcast), which is the same
        for all operators of a kind: one operator of each tries it.
    """

    op: str
    oracle: Callable[..., Any]
    shapes: tuple
    attrs: dict = field(default_factory=dict)
    domain: Any = "normal"
    dtypes: tuple | None = None
    train: bool = False
    gradient: Callable[..., Any] | None = None
    steps: int = 1
    smooth: bool = True
    heads: int = 1
    fixed: tuple[str, ...] = ()
    mixed: tuple[str | None, ...] = ()
    results: str | tuple[str | None, ...] | Mapping[str, str] = field(default_factory=dict)
    orders: int = 2
    edge: bool = False

    @property
    def id(self) -> str:
        """A readable name."""
        words = [f"{k}={v}" for k, v in self.attrs.items()]
        shapes = "x".join(str(s).replace(" ", "") for s in self.shapes)
        return "-".join([self.op, shapes, *words, *["train"] * self.train]).replace(" ", "")

    @cached_property
    def card(self) -> OperatorProperty:
        """The operator with its attributes."""
        return make(self.op, self.attrs)

    def types(self) -> tuple:
        """The element types to try."""
        return self.dtypes if self.dtypes is not None else self.card.dtypes

    def input_types(self, dtype: str) -> list[str]:
        """The element type of each input where `dtype` is tried."""
        return [own or dtype for own in self.mixed or (None,) * len(self.shapes)]

    def result_types(self, dtype: str) -> list[str]:
        """The element type of each visible output where `dtype` is tried."""
        if isinstance(self.results, tuple):
            return [own or dtype for own in self.results]
        found = self.attrs.get("dtype") or dtype
        results = self.results if isinstance(self.results, str) else self.results.get(dtype, found)
        return [results] * self.card.num_visible_outputs()

    def inputs(self, dtype: str, seed: int = 0) -> list[np.ndarray]:
        """Inputs as float64 arrays with values that their types hold exactly."""
        random = np.random.default_rng([seed, len(self.id)])
        count = len(self.shapes)
        domains = (self.domain,) * count if isinstance(self.domain, str) else self.domain
        rows = zip(self.shapes, domains, self.input_types(dtype), strict=True)
        return [draw(random, *row) for row in rows]

    def expected(self, inputs: list[np.ndarray], *dtypes: str) -> list[np.ndarray]:
        """The visible outputs, as values of their types, or of the one that there is."""
        with np.errstate(all="ignore"):
            found = self.oracle(*inputs)
        outputs = found if isinstance(found, (tuple, list)) else (found,)
        kinds = dtypes if len(dtypes) == len(outputs) else dtypes[:1] * len(outputs)
        rows = zip(outputs, kinds, strict=True)
        return [as_type(np.asarray(o, "float64"), kind) for o, kind in rows]


@dataclass(frozen=True)
class Refused:
    """A call that must fail before anything is run, with a message that says why.

    Parameters
    ----------
    op
        MXNet's name, which the message must have.
    words
        What else the message must have.
    shapes
        The shapes of the inputs; None if the attributes alone are refused.
    attrs
        The attributes.
    dtypes
        The element types of the inputs; float32 where empty.
    """

    op: str
    words: tuple[str, ...]
    shapes: tuple | None = None
    attrs: dict = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """A readable name."""
        return f"{self.op}-{self.shapes}-{self.attrs}-{self.dtypes}".replace(" ", "")


def numpy_type(dtype: str) -> np.dtype:
    """NumPy's element type of a name."""
    return np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)


def as_type(values: np.ndarray, dtype: str) -> np.ndarray:
    """Float64 values, cut to integers where the type has no fractions."""
    if dtype in ("float64", "float32", "float16", "bfloat16"):
        return values
    if dtype == "bool":
        return values != 0
    return np.trunc(values).astype("int64").astype(dtype)


def draw(random: np.random.Generator, shape: tuple, domain: str, dtype: str) -> np.ndarray:
    """Numbers of a domain, rounded to a type, as float64."""
    if dtype == "bool":
        return random.integers(0, 2, shape).astype("float64")
    if dtype in ("float64", "float32", "float16", "bfloat16"):
        values = np.asarray(_real(random, shape, domain), "float64")
        return values.astype(numpy_type(dtype)).astype("float64")
    return np.asarray(_whole(random, shape, domain, dtype[0] == "u"), "float64")


def _real(random: np.random.Generator, shape: tuple, domain: str) -> np.ndarray:
    size = int(np.prod(shape))
    if domain == "normal":
        return random.standard_normal(shape) * 1.5
    if domain == "positive":
        return random.uniform(0.3, 3, shape)
    if domain == "share":
        return random.uniform(0.1, 0.9, shape)
    if domain == "above1":
        return random.uniform(1.3, 3, shape)
    if domain == "unit":
        return random.uniform(-0.9, 0.9, shape)
    if domain == "weights":
        # Of so many that their sums stay near 1.
        return random.standard_normal(shape) / 16
    if domain == "distinct":
        # Apart from each other and from zero, in steps that halves hold.
        steps = random.permutation(size) - size // 2
        return ((steps + 0.5) / 8).reshape(shape)
    if domain == "halves":
        return random.integers(-6, 7, shape) / 2
    if domain.startswith("below"):
        return random.integers(0, int(domain.removeprefix("below")), shape)
    if domain == "small":
        return random.integers(-3, 4, shape)
    if domain == "definite":
        # Positive definite, exactly symmetric in every type, far from singular.
        half = random.integers(-4, 5, shape) / 4
        return (half + np.swapaxes(half, -1, -2)) / 2 + 2.0 * shape[-1] * np.eye(shape[-1])
    if domain == "spread":
        # Symmetric, with eigenvalues near 0, 4, 8 and so on.
        half = random.integers(-2, 3, shape) / 8
        return half + np.swapaxes(half, -1, -2) + np.diag(4.0 * np.arange(shape[-1]))
    if domain == "regular":
        # Far from singular, with or without a triangle.
        return random.uniform(-1, 1, shape) + 2.0 * np.eye(*shape[-2:])
    raise AssertionError(f"no domain {domain}")


def _whole(random: np.random.Generator, shape: tuple, domain: str, unsigned: bool) -> np.ndarray:
    if domain.startswith("below"):
        return random.integers(0, int(domain.removeprefix("below")), shape)
    if domain == "unit":
        return np.zeros(shape)
    low = 1 if domain in ("positive", "above1") else 0 if unsigned else -4
    return random.integers(low, 5, shape)


def of_any_shape(op: str, oracle: Callable[..., Any], domain: str, **rest: Any) -> list[Case]:
    """Cases of an operator of one input: one in every type, and the edges in two."""
    types = [t for t in ("float32", "float64") if t in make(op, rest.get("attrs", {})).dtypes]
    edges = {**rest, "dtypes": tuple(types)}
    return [
        Case(op, oracle, ((3, 5, 2),), domain=domain, **rest),
        *[Case(op, oracle, (s,), domain=domain, edge=True, **edges) for s in EDGES],
    ]
