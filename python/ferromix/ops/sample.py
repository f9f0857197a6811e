"""Operators that draw random numbers: each distribution with parameters that are attributes, in
the shape and type of another tensor, and with tensors of parameters.

The numbers depend on the seed and on how many draws came before, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError
from ..literal import brief
from .card import MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, NUMBERS, Elementwise, Types, derive
from .init import CTX, SHAPE, Source
from .param import Param, Params

__all__ = ["LAWS", "Law", "parameters"]

DTYPE = Param("dtype", None, "The type of the output; float32 where None.", optional=True)


@dataclass(frozen=True)
class Law:
    """A distribution.

    Parameters
    ----------
    name
        Its name in MXNet.
    summary
        What its numbers are, as in ``"Numbers ..."``.
    formula
        The law of ``out``.
    params
        Its parameters as attributes.
    tensors
        Their names as tensors where those are others.
    positive
        The attributes that must be above 0.
    aliases
        Further names of the operator with attributes.
    """

    name: str
    summary: str
    formula: str
    params: Params
    tensors: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


LAWS = (
    Law(
        "uniform",
        "drawn uniformly from an interval, its upper end excluded",
        "low <= out < high",
        {
            "low": Param("float", 0.0, "The lower end."),
            "high": Param("float", 1.0, "The upper end."),
        },
        aliases=("uniform",),
    ),
    Law(
        "normal",
        "drawn from a normal distribution",
        "out ~ N(loc, scale ** 2)",
        {
            "loc": Param("float", 0.0, "The mean."),
            "scale": Param("float", 1.0, "The standard deviation.", low=0),
        },
        ("mu", "sigma"),
        aliases=("normal",),
    ),
    Law(
        "exponential",
        "drawn from an exponential distribution",
        "P(out > x) = exp(-lam * x)",
        {"lam": Param("float", 1.0, "The rate, which is the inverse of the mean.")},
        positive=("lam",),
    ),
    Law(
        "gamma",
        "drawn from a gamma distribution",
        "out ~ Gamma(alpha, beta), of mean alpha * beta",
        {
            "alpha": Param("float", 1.0, "The shape."),
            "beta": Param("float", 1.0, "The scale."),
        },
        positive=("alpha", "beta"),
    ),
    Law(
        "poisson",
        "drawn from a Poisson distribution",
        "P(out = n) = lam ** n * exp(-lam) / n!",
        {"lam": Param("float", 1.0, "The mean.", low=0)},
    ),
    Law(
        "negative_binomial",
        "of failures before k successes, each of probability p",
        "out ~ NB(k, p), of mean k * (1 - p) / p",
        {
            "k": Param("int", 1, "The number of successes.", low=0),
            "p": Param("float", 1.0, "The probability of a success.", low=0),
        },
        positive=("p",),
    ),
    Law(
        "generalized_negative_binomial",
        "drawn from a negative binomial distribution, given by its mean and its dispersion",
        "out ~ NB(1 / alpha, 1 / (1 + alpha * mu)), of mean mu and variance mu + alpha * mu ** 2",
        {
            "mu": Param("float", 1.0, "The mean.", low=0),
            "alpha": Param("float", 1.0, "The dispersion; Poisson's distribution at 0.", low=0),
        },
    ),
)


class OfLaw(OperatorProperty):
    """What operators with a distribution in their attributes share."""

    law: ClassVar[Law]
    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for name in self.law.positive:
            if not self.attrs[name] > 0:
                raise InvalidArgumentError(
                    f"{self.name}: attribute '{name}' must be positive, got {self.attrs[name]}"
                )

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The parameters."""
        return {name: self.attrs[name] for name in self.law.params}


class Random(OfLaw, Source):
    """The base of operators whose parameters and shape are attributes."""


class RandomLike(OfLaw, Elementwise):
    """The base of those that take shape and type of another tensor."""

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape and type only."""
        return [0]


class Sample(OperatorProperty):
    """The base of operators that draw from a distribution for each element of their inputs."""

    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    params: ClassVar[Params] = {
        "shape": Param("shape", (), "The shape of what each distribution gives.", low=0),
        "dtype": DTYPE,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the parameters, and then the attribute."""
        found, _, _ = super().infer_shape(in_shapes)
        shape = found[0]
        return found, [None if shape is None else (*shape, *self.attrs["shape"])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The leading extents of the output."""
        (out,), own = out_shapes, self.attrs["shape"]
        if out is None:
            return list(in_shapes)
        rank = len(out) - len(own)
        if rank < 0 or any(x not in (-1, y) for x, y in zip(out[rank:], own, strict=True)):
            raise InvalidArgumentError(
                f"{self.name}: an output of shape {out} does not end in shape={own}"
            )
        names = self.list_arguments()
        return [
            merge_shapes(self.name, n, s, out[:rank]) for n, s in zip(names, in_shapes, strict=True)
        ]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The attribute; parameters are of any type."""
        found, _, _ = super().infer_type(in_types)
        dtype = self.attrs["dtype"] or "float32"
        if dtype not in FLOATS:
            raise InvalidArgumentError(
                f"{self.name}: dtype must be one of {', '.join(FLOATS)}, got {dtype}"
            )
        return found, [dtype], []


def _register(law: Law) -> None:
    """The three cards of a distribution."""
    words = "".join(word.capitalize() for word in law.name.split("_"))
    values = {"low": 2.0, "high": 3.0, "p": 0.5}
    given = ", ".join(f"{n}={values.get(n, 2)}" for n in law.params)
    tensors = law.tensors or tuple(law.params)
    card = derive(
        Random,
        f"Random{words}",
        law=law,
        name=f"_random_{law.name}",
        aliases=(f"random_{law.name}", *law.aliases),
        params={**law.params, "shape": SHAPE, "ctx": CTX, "dtype": DTYPE},
    )
    call = f"random_{law.name}({given}, shape=(4,)).shape\n(4,)"
    _document(card, law, "", "``shape``", "floats", "there is no input", call)
    like = derive(
        RandomLike,
        f"Random{words}Like",
        law=law,
        name=f"_random_{law.name}_like",
        kernel=f"_random_{law.name}",
        params=law.params,
    )
    call = f"random.{law.name}_like(mx.nd.zeros((2, 3)), {given}).shape\n(2, 3)"
    where = ", in the shape and type of another tensor"
    shapes = "``out`` has the shape of ``data``"
    _document(like, law, where, shapes, "floats", "nothing flows back", call)
    rows = derive(
        Sample,
        f"Sample{words}",
        name=f"_sample_{law.name}",
        aliases=(f"sample_{law.name}",),
        arguments=tensors,
    )
    arrays = ", ".join(f"mx.nd.array([{values.get(n, 2)}])" for n in law.params)
    call = f"sample_{law.name}({arrays}, shape=(4,)).shape\n(1, 4)"
    where = f", with tensors of parameters ({', '.join(tensors)})"
    shapes = "``out`` has the shape of the parameters, and then ``shape``"
    kinds = "floats; parameters of any type, all alike"
    _document(rows, law, where, shapes, kinds, "nothing flows back", call)
    for each in (card, like, rows):
        register(each)


def _document(
    card: type[OperatorProperty],
    law: Law,
    where: str,
    shapes: str,
    kinds: str,
    gradient: str,
    call: str,
) -> None:
    formula = law.formula
    if issubclass(card, Sample):
        for own, tensor in zip(law.params, law.tensors, strict=False):
            formula = formula.replace(own, tensor)
    card.__doc__ = (
        f"Numbers {law.summary}{where}.\n\nFormula: ``{formula}``. Shapes: {shapes}. "
        f"Types: {kinds}.\nGradient: none, {gradient}.\n\n"
        f"Examples\n--------\n>>> mx.nd.{call}\n"
    )


def parameters(name: str, params: Mapping[str, Any], tensor: type | None) -> bool:
    """Whether the parameters of a distribution are tensors, rather than numbers.

    Raises
    ------
    ArgumentTypeError
        For anything else, and for some of both.
    """
    tensors = [k for k, p in params.items() if tensor is not None and isinstance(p, tensor)]
    if tensors and len(tensors) == len(params):
        return True
    for key, value in params.items():
        if key not in tensors and not isinstance(value, (int, float, np.number)):
            kinds = f"a number or an {tensor.__name__}" if tensor else "a number"
            raise ArgumentTypeError(f"random.{name}: {key} must be {kinds}, got {brief(value)}")
    if tensors:
        raise ArgumentTypeError(
            f"random.{name}: {', '.join(params)} must be all numbers or all tensors; "
            f"only {', '.join(tensors)} is a tensor"
        )
    return False


def rate(scale: Any, tensor: type) -> Any:
    """The rate of an exponential distribution of this mean.

    Raises
    ------
    InvalidArgumentError
        For a mean of 0.
    """
    if not parameters("exponential", {"scale": scale}, tensor) and scale == 0:
        raise InvalidArgumentError(f"random.exponential: scale must be above 0, got {scale}")
    return 1.0 / scale


for _law in LAWS:
    _register(_law)
