"""Brightness, contrast, saturation, hue and lighting of images, by given or drawn amounts."""

from __future__ import annotations

from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, register
from .family import derive
from .image import Images
from .param import Param, Params

__all__ = ["AdjustLighting", "Jitter", "Lighting", "RandomColorJitter", "RandomLighting"]

_FACTORS: Params = {
    "min_factor": Param("float", doc="The least amount.", low=0),
    "max_factor": Param("float", doc="The greatest amount.", low=0),
}


class Jitter(Images):
    """The base of changes of the colours of one image, through which no gradient flows."""

    differentiable: ClassVar[bool] = False


def _random(word: str, formula: str) -> type[Jitter]:
    """Registers the card of a change by an amount that is drawn evenly."""
    name = f"random_{word}"
    card = derive(Jitter, f"Random{word.capitalize()}", name=f"_image_{name}", params=_FACTORS)
    card.__doc__ = f"""An image of which the {word} is changed by chance.

    Formula: ``out = {formula}``, where ``a`` is drawn evenly from ``min_factor`` to ``max_factor``.
    Shapes: ``data`` is ``(h, w, c)`` with 1 or 3 channels. Types: numbers; all is computed in
    float32, integers are cut and bytes limited. Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([[[30, 30, 30]]])
    >>> mx.nd.image.{name}(data, min_factor=0.5, max_factor=1.5).shape
    (1, 1, 3)
    """
    return register(card)


_random("brightness", "data * a")
_random("contrast", "data * a + mean(gray) * (1 - a)")
_random("saturation", "data * a + 0.114 * blue * (1 - a)")
_random("hue", "rgb(hls(data) + (360 * a, 0, 0))")


@register
class RandomColorJitter(Jitter):
    """An image of which brightness, contrast, saturation and hue are changed by chance.

    Formula: those of the four operators, in an order that is drawn, with amounts drawn evenly from
    ``1 - brightness`` to ``1 + brightness``, and likewise; for the hue from ``-hue`` to ``hue``.
    Shapes: ``data`` is ``(h, w, c)`` with 1 or 3 channels. Types: numbers; all is computed in
    float32, integers are cut and bytes limited. Gradient: none, nothing flows back.

    Examples
    --------
    >>> amounts = {"brightness": 0, "contrast": 0, "saturation": 0, "hue": 0}
    >>> print(mx.nd.image.random_color_jitter(mx.nd.ones((1, 1, 1)), **amounts).asnumpy())
    [[[1.]]]
    """

    name = "_image_random_color_jitter"
    params: ClassVar[Params] = {
        word: Param("float", doc=f"By how much the {word} may change.")
        for word in ("brightness", "contrast", "saturation", "hue")
    }


class Lighting(Jitter):
    """The base of changes that add the same numbers to each pixel: gradients pass through."""

    differentiable: ClassVar[bool] = True

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """That of the output."""
        return [graph.out_grad[0]]


@register
class AdjustLighting(Lighting):
    """An image with parts of the principal components of the colours of ImageNet added.

    Formula: ``out[y, x] = data[y, x] + directions @ (alpha * lengths)``; gray images stay.
    Shapes: ``data`` is ``(h, w, c)`` with 1 or 3 channels; ``alpha`` are 3 numbers. Types: numbers;
    all is computed in float32, integers are cut and bytes limited.
    Gradient: ``out_grad``.

    Examples
    --------
    >>> data = mx.nd.array([[[100, 100, 100]]])
    >>> print(mx.nd.image.adjust_lighting(data, alpha=(1, 0, 0)).asnumpy().round(2))
    [[[68.53 67.79 67.63]]]
    """

    name = "_image_adjust_lighting"
    params: ClassVar[Params] = {"alpha": Param("floats", doc="How much of each component.")}

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if len(self.attrs["alpha"]) < 3:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'alpha' must have 3 floats, got {self.attrs['alpha']}"
            )


@register
class RandomLighting(Lighting):
    """An image with parts of the principal components of the colours of ImageNet added, by chance.

    Formula: that of ``adjust_lighting``, with ``alpha`` drawn from the normal distribution of
    deviation ``alpha_std``. Shapes: ``data`` is ``(h, w, c)`` with 1 or 3 channels. Types:
    numbers; all is computed in float32, integers are cut and bytes limited.
    Gradient: ``out_grad``.

    Examples
    --------
    >>> mx.nd.image.random_lighting(mx.nd.ones((1, 1, 3)), alpha_std=0.1).shape
    (1, 1, 3)
    """

    name = "_image_random_lighting"
    params: ClassVar[Params] = {"alpha_std": Param("float", 0.05, "The deviation of the amounts.")}
