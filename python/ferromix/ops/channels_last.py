"""Convolutions of images whose channels come last, by way of those whose channels come second.

They are the same operators to users and in saved graphs; the layout alone decides on the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, Shape, merge_shapes
from .composed import Composed
from .convolution import CHANNELS_LAST, Convolution, Deconvolution
from .term import Term

__all__: list[str] = []


class _ChannelsLast(Composed, Convolution):
    """The rule; the class that inherits it is of the operator."""

    layouts: ClassVar[Mapping[int, str]] = CHANNELS_LAST

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """That of the rule; what does not fit is told as it was given, before it is turned."""
        data, weight, kernel = *in_shapes[:2], self.attrs["kernel"]
        if data is not None and len(data) != len(kernel) + 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected {len(kernel) + 2} "
                f"dimensions, of which the last has the channels"
            )
        channels = -1 if data is None else data[-1]
        if channels % self.attrs["num_group"] == 0 or channels < 0:
            merge_shapes(self.name, "weight", weight, self._weight(channels))
        return super().infer_shape(in_shapes)

    def _weight(self, channels: int) -> Shape:
        """The shape of the weight."""
        within = channels // self.attrs["num_group"] if channels >= 0 else -1
        return (self.attrs["num_filter"], *self.attrs["kernel"], within)

    def forward(self, data: Term, weight: Term, *bias: Term) -> Term:
        """The operator of the other order, between transpositions."""
        rank = len(self.attrs["kernel"])
        spatial = range(1, rank + 1)
        second, last = (0, rank + 1, *spatial), (0, *(i + 1 for i in spatial), 1)
        inputs = [weight.op("transpose", axes=second), *bias]
        attrs = {**self.attrs, "layout": None}
        return (
            data.op("transpose", axes=second)
            .op(self.name, *inputs, **attrs)
            .op("transpose", axes=last)
        )


class _Convolution(_ChannelsLast):
    """Convolution."""


class _Deconvolution(_ChannelsLast, Deconvolution):
    """Deconvolution."""

    def _weight(self, channels: int) -> Shape:
        filters = self.attrs["num_filter"] // self.attrs["num_group"]
        return (channels, *self.attrs["kernel"], filters)


Convolution.channels_last = _Convolution
Deconvolution.channels_last = _Deconvolution
