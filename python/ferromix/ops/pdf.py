"""Densities of distributions at samples: of each element of the parameters as many as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, Backward, derive
from .param import Param, Params

__all__ = ["RandomPdfDirichlet"]

_PARAMS: Params = {
    "is_log": Param("bool", False, "Whether to give the logarithm of the density."),
}


@dataclass(frozen=True)
class Density:
    """A distribution.

    Parameters
    ----------
    name
        Its name in MXNet.
    summary
        Whose density, or probability.
    formula
        The density of a sample, ``x``.
    params
        The names of its parameters.
    example
        A sample, the parameters, and what is printed.
    counts
        Whether samples are whole numbers, or do not matter, so that they have no gradient.
    """

    name: str
    summary: str
    formula: str
    params: tuple[str, ...]
    example: tuple[str, ...]
    counts: bool = False


DENSITIES = (
    Density(
        "uniform",
        "The density of uniform distributions, which is that within for any sample",
        "1 / (high - low)",
        ("low", "high"),
        ("[1, 3]", "[0, 0]", "[4, 8]", "[0.25  0.125]"),
        counts=True,
    ),
    Density(
        "normal",
        "The density of normal distributions",
        "exp(-((x - mu) / sigma) ** 2 / 2) / (sigma * sqrt(2 * pi))",
        ("mu", "sigma"),
        ("[0, 1]", "[0, 0]", "[1, 1]", "[0.3989 0.242 ]"),
    ),
    Density(
        "gamma",
        "The density of gamma distributions, whose second parameter is a rate: the inverse of the "
        "scale that numbers are drawn by",
        "beta ** alpha * x ** (alpha - 1) * exp(-beta * x) / gamma(alpha)",
        ("alpha", "beta"),
        ("[1, 2]", "[2, 2]", "[1, 1]", "[0.3679 0.2707]"),
    ),
    Density(
        "exponential",
        "The density of exponential distributions",
        "lam * exp(-lam * x)",
        ("lam",),
        ("[0, 1]", "[2, 2]", "[2.     0.2707]"),
    ),
    Density(
        "poisson",
        "The probability of counts in Poisson's distribution",
        "lam ** x * exp(-lam) / x!",
        ("lam",),
        ("[0, 2]", "[2, 2]", "[0.1353 0.2707]"),
        counts=True,
    ),
    Density(
        "negative_binomial",
        "The probability of so many failures before k successes",
        "gamma(x + k) / (gamma(k) * x!) * p ** k * (1 - p) ** x",
        ("k", "p"),
        ("[0, 2]", "[2, 2]", "[0.5, 0.5]", "[0.25   0.1875]"),
        counts=True,
    ),
    Density(
        "generalized_negative_binomial",
        "The probability of counts in negative binomial distributions of a mean and a dispersion",
        "gamma(x + 1 / alpha) / (gamma(1 / alpha) * x!) * (1 + alpha * mu) ** (-1 / alpha) * "
        "(alpha * mu / (1 + alpha * mu)) ** x",
        ("mu", "alpha"),
        ("[0, 2]", "[2, 2]", "[0.5, 0.5]", "[0.25   0.1875]"),
        counts=True,
    ),
)


class Pdf(OperatorProperty):
    """The base of densities."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = _PARAMS
    back: ClassVar[str]
    counts: ClassVar[bool] = False

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The parameters have the leading extents of the samples."""
        sample, *params = in_shapes
        names = self.list_arguments()
        shape: MaybeShape = None
        for name, given in zip(names[1:], params, strict=True):
            shape = merge_shapes(self.name, name, given, shape)
        if sample is not None and shape is not None:
            if len(shape) > len(sample):
                raise InvalidArgumentError(
                    f"{self.name}: argument '{names[1]}' of shape {shape} has more axes than "
                    f"'sample' of shape {sample}"
                )
            shape = merge_shapes(self.name, names[1], shape, sample[: len(shape)])
            sample = (*(shape or ()), *sample[len(shape or ()) :])
        return [sample, *[shape] * len(params)], [sample], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The samples have the shape of the output."""
        return [merge_shapes(self.name, "sample", in_shapes[0], out_shapes[0]), *in_shapes[1:]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's; none of counts."""
        found = graph.op(self.back, graph.out_grad[0], *graph.in_data, **self.attrs)
        return [None if self.counts else found[0], *found[1:]]


class BackwardPdf(Backward):
    """The base of their gradients."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = _PARAMS


def _register(law: Density) -> None:
    words = "".join(word.capitalize() for word in law.name.split("_"))
    name, back = f"_random_pdf_{law.name}", f"_backward_pdf_{law.name}"
    arguments = ("sample", *law.params)
    card = derive(
        Pdf,
        f"RandomPdf{words}",
        name=name,
        aliases=(name[1:],),
        arguments=arguments,
        back=back,
        counts=law.counts,
    )
    arrays = ", ".join(f"mx.nd.array({values})" for values in law.example[:-1])
    slopes = "; ".join(f"``{n}_grad`` that by ``{n}``, for all its samples" for n in law.params)
    of_sample = "none for ``sample``" if law.counts else "``sample_grad`` is that by ``sample``"
    card.__doc__ = (
        f"{law.summary}.\n\nFormula: ``out = {law.formula}`` for ``x`` of ``sample``; its "
        f"logarithm with ``is_log``. Shapes: {', '.join(f'``{n}``' for n in law.params)} "
        "have one shape, with which that of ``sample`` begins; ``out`` has that of ``sample``. "
        f"Types: floats; all alike.\nGradient: ``out_grad`` times the derivative: {of_sample}; "
        f"{slopes}.\n\nExamples\n--------\n"
        f">>> print(mx.nd.random_pdf_{law.name}({arrays}).asnumpy().round(4))\n{law.example[-1]}\n"
    )
    register(card)
    register(
        derive(
            BackwardPdf,
            f"BackwardPdf{words}",
            __doc__=f"The gradients of random_pdf_{law.name}.",
            name=back,
            arguments=("out_grad", *arguments),
            gradients={f"{n}_grad": n for n in arguments},
        )
    )


for _law in DENSITIES:
    _register(_law)


@register
class RandomPdfDirichlet(Pdf):
    """The density of Dirichlet's distributions, at points whose coordinates are probabilities.

    Formula: ``out = gamma(sum(alpha)) * prod(x ** (alpha - 1) / gamma(alpha))``, over the last
    axis, for ``x`` of ``sample``; its logarithm with ``is_log``. Shapes: ``alpha`` is ``(..., k)``;
    ``sample`` has the same extents, perhaps with more of them before the last; ``out`` that of
    ``sample`` without the last. Types: floats; all alike.
    Gradient: ``out_grad`` times the derivative: ``sample_grad`` is that by ``sample``;
    ``alpha_grad`` is that by ``alpha``, for all its samples.

    Examples
    --------
    >>> sample, alpha = mx.nd.array([[0.2, 0.3, 0.5]]), mx.nd.array([[1, 2, 3]])
    >>> print(mx.nd.random_pdf_dirichlet(sample, alpha).asnumpy().round(4))
    [4.5]
    """

    name = "_random_pdf_dirichlet"
    aliases = ("random_pdf_dirichlet",)
    arguments = ("sample", "alpha")
    back = "_backward_pdf_dirichlet"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The leading extents of the samples, and the classes."""
        sample, alpha = in_shapes
        for name, shape in zip(self.arguments, in_shapes, strict=True):
            if shape == ():
                raise InvalidArgumentError(
                    f"{self.name}: argument '{name}' must have an axis of classes, got shape ()"
                )
        if sample is not None and alpha is not None:
            rank = len(alpha) - 1
            if rank >= len(sample):
                raise InvalidArgumentError(
                    f"{self.name}: argument 'alpha' of shape {alpha} has more axes than 'sample' "
                    f"of shape {sample}"
                )
            expected = (*sample[:rank], sample[-1])
            alpha = merge_shapes(self.name, "alpha", alpha, expected) or expected
            sample = (*alpha[:-1], *sample[rank:-1], alpha[-1])
        return [sample, alpha], [None if sample is None else sample[:-1]], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The samples have one axis more than the output."""
        (out,), (sample, alpha) = out_shapes, in_shapes
        if out is not None:
            sample = merge_shapes(self.name, "sample", sample, (*out, -1))
        return [sample, alpha]


@register
class BackwardPdfDirichlet(BackwardPdf):
    """The gradients of random_pdf_dirichlet."""

    name = "_backward_pdf_dirichlet"
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "sample", "alpha")
    gradients: ClassVar[Mapping[str, str]] = {"sample_grad": "sample", "alpha_grad": "alpha"}
