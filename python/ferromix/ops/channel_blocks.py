"""Cards of operators on images whose channels lie in blocks; graphs get them by a pass.

The channels of a block are neighbours in memory, then come the positions of a plane, then the
blocks. Shapes stay as they are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .batch_norm import BatchNorm
from .card import OperatorProperty
from .pooling import Pooling

__all__ = [
    "ChannelBlocks",
    "NormBlock",
    "PoolingBlock",
    "channel_blocks",
    "norm_block",
    "pooling_block",
]


class ChannelBlocks(OperatorProperty):
    """Takes images to channels in blocks.

    Parameters
    ----------
    back
        Whether it goes the other way.
    """

    name = "_channel_blocks"
    hidden = True
    differentiable = False

    def __init__(self, back: bool) -> None:
        super().__init__()
        self.back = back

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The direction."""
        return {"back": self.back}


class PoolingBlock(OperatorProperty):
    """A pooling of images whose channels lie in blocks.

    Parameters
    ----------
    pooling
        The pooling.
    """

    name = "_pooling_block"
    kernel = "Pooling"
    hidden = True
    differentiable = False

    def __init__(self, pooling: Pooling) -> None:
        super().__init__()
        self.pooling = pooling
        self.label = pooling.label

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """Those of the pooling."""
        return {**self.pooling.kernel_attrs(is_train), "blocks": True}

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """Those of the pooling."""
        return self.pooling.cpu_inplace_options()


class NormBlock(OperatorProperty):
    """Normalisation by running statistics, of images whose channels lie in blocks.

    Parameters
    ----------
    norm
        The normalisation.
    """

    name = "_norm_block"
    arguments = ("data", "gamma", "beta", "moving_mean", "moving_var")
    hidden = True
    differentiable = False

    def __init__(self, norm: BatchNorm) -> None:
        super().__init__()
        self.norm = norm
        self.label = norm.label

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """What is added to variances, and whether gammas are 1."""
        return {name: self.norm.attrs[name] for name in ("eps", "fix_gamma")}

    def inplace_options(self) -> list[tuple[int, int]]:
        """Those of the normalisation."""
        return self.norm.inplace_options()


@lru_cache(maxsize=2)
def channel_blocks(back: bool) -> ChannelBlocks:
    """The card of this direction, the same object each time."""
    return ChannelBlocks(back)


@lru_cache(maxsize=1024)
def pooling_block(pooling: Pooling) -> PoolingBlock:
    """The card of this pooling, the same object each time."""
    return PoolingBlock(pooling)


@lru_cache(maxsize=1024)
def norm_block(norm: BatchNorm) -> NormBlock:
    """The card of this normalisation, the same object each time."""
    return NormBlock(norm)
