"""Discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .family import REALS
from .param import Param, Params

__all__: list[str] = []


class Transform(OperatorProperty):
    """The base of transforms, each of which is the other one's gradient."""

    dtypes = REALS
    other: ClassVar[str]
    params: ClassVar[Params] = {
        "compute_size": Param("int", 128, "How many rows MXNet transforms at a time; not used.")
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The other transform."""
        return [graph.op(self.other, graph.out_grad[0], **self.attrs)[0]]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Another last extent."""
        (shape,) = in_shapes
        return [shape], [None if shape is None else self._resized(self.name, shape)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The same the other way."""
        (shape,), (out,) = in_shapes, out_shapes
        if out is None:
            return [shape]
        found = self._resized(self.other, out)
        return [merge_shapes(self.name, "data", shape, found)]

    def _resized(self, operator: str, shape: Shape) -> Shape:
        if not shape:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape (), expected at least one dimension"
            )
        *front, n = shape
        if operator == "_contrib_fft":
            return (*front, -1 if n < 0 else 2 * n)
        if n >= 0 and n % 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {shape} has no pairs of real and imaginary "
                "parts: the last extent is odd"
            )
        return (*front, -1 if n < 0 else n // 2)


@register
class Fft(Transform):
    """The discrete Fourier transform of real numbers along the last axis.

    Formula: ``out[..., 2 k] + i out[..., 2 k + 1]`` is the sum over ``j`` of
    ``data[..., j] * exp(-2 pi i j k / n)``. Shapes: ``(..., n)`` gives ``(..., 2 n)``. Types:
    float32, float64. Gradient: ``data_grad = ifft(out_grad)``.

    Examples
    --------
    >>> print(mx.nd.contrib.fft(mx.nd.array([1, 2])).asnumpy())
    [ 3.  0. -1.  0.]
    """

    name = "_contrib_fft"
    other = "_contrib_ifft"


@register
class Ifft(Transform):
    """The real part of the inverse Fourier transform along the last axis, not divided by ``n``.

    Formula: ``out[..., j]`` is the real part of the sum over ``k`` of
    ``(data[..., 2 k] + i data[..., 2 k + 1]) * exp(2 pi i j k / n)``. Shapes: ``(..., 2 n)`` gives
    ``(..., n)``. Types: float32, float64. Gradient: ``data_grad = fft(out_grad)``.

    Examples
    --------
    >>> print(mx.nd.contrib.ifft(mx.nd.array([3, 0, -1, 0])).asnumpy())
    [2. 4.]
    """

    name = "_contrib_ifft"
    other = "_contrib_fft"
