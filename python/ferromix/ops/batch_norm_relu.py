"""The cards of BatchNorm with a relu behind it, and of the gradient; graphs get them by a pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .batch_norm import BackwardBatchNorm, BatchNorm, BatchNormAgain
from .card import Again, Entry

__all__ = ["BackwardBatchNormReLU", "BatchNormReLU", "backward_batch_norm_relu", "batch_norm_relu"]


class BatchNormReLU(BatchNorm):
    """Batch normalization, and 0 in place of what is negative."""

    name = "_batch_norm_relu"
    kernel = "_contrib_BatchNormWithReLU"
    hidden = True
    differentiable = False

    def again(self, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> Again | None:
        """As of BatchNorm."""
        return BatchNormReLUAgain(**self.attrs), [*inputs[:3], *outputs[1:]]


class BatchNormReLUAgain(BatchNormAgain):
    """The output once more, from the data and the statistics that it gave."""

    name = "_batch_norm_relu_again"


class BackwardBatchNormReLU(BackwardBatchNorm):
    """The gradients from that of the relu's output.

    Which elements passed the relu is found out again, from the data and ``beta``.
    """

    name = "_backward_batch_norm_relu"
    differentiable = False
    arguments = (*BackwardBatchNorm.arguments, "beta")


@lru_cache(maxsize=1024)
def batch_norm_relu(card: BatchNorm) -> BatchNormReLU:
    """The card with the attributes of `card`, the same object for the same ones."""
    return BatchNormReLU(**card.attrs)


@lru_cache(maxsize=1024)
def backward_batch_norm_relu(card: BackwardBatchNorm) -> BackwardBatchNormReLU:
    """The same for the gradient."""
    return BackwardBatchNormReLU(**card.attrs)
