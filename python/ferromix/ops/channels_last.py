"""Convolutions of images whose channels come last, by way of those whose channels come second.

They are the same operators to users and in saved graphs; the layout alone decides on the card.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from .composed import Composed
from .convolution import CHANNELS_LAST, Convolution, Deconvolution
from .term import Term

__all__: list[str] = []


class _ChannelsLast(Composed, Convolution):
    """The rule; the class that inherits it is of the operator."""

    layouts: ClassVar[Mapping[int, str]] = CHANNELS_LAST

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


Convolution.channels_last = _Convolution
Deconvolution.channels_last = _Deconvolution
