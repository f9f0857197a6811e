"""The card of a convolution with what follows it in inference; graphs get it by a pass."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from .batch_norm import BatchNorm
from .card import OperatorProperty
from .convolution import Convolution

__all__ = ["ConvolutionBlock", "convolution_block"]

STATISTICS = ("gamma", "beta", "moving_mean", "moving_var")


class ConvolutionBlock(OperatorProperty):
    """A convolution, and then as given: normalisation by running statistics, a sum, and relu.

    Parameters
    ----------
    convolution
        The convolution.
    norm
        What normalises it, if anything does.
    added
        Whether the last input is added.
    relu
        Whether what is negative becomes 0 in the end.
    blocks
        Whose channels lie in blocks (:mod:`ferromix.ops.channel_blocks`): 0 for nobody's, 1 for
        those of the result and of what is added, 2 for those of the data, too.
    """

    name = "_convolution_block"
    hidden = True
    differentiable = False
    open_inputs: ClassVar[bool] = True

    def __init__(
        self,
        convolution: Convolution,
        norm: BatchNorm | None,
        added: bool,
        relu: bool,
        blocks: int = 0,
    ) -> None:
        super().__init__()
        self.convolution = convolution
        self.norm = norm
        self.added = added
        self.relu = relu
        self.blocks = blocks
        # What errors call it: the operators in their order.
        parts = [convolution.label, norm and norm.label, added and "add", relu and "relu"]
        self.label = "+".join(part for part in parts if part)

    def list_arguments(self) -> list[str]:
        """Those of the parts; the statistics are only read."""
        statistics = STATISTICS if self.norm is not None else ()
        return [*self.convolution.list_arguments(), *statistics, *["addend"] * self.added]

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """Those of the convolution, and what follows."""
        normed = {} if self.norm is None else {a: self.norm.attrs[a] for a in ("eps", "fix_gamma")}
        follows = {"norm": self.norm is not None, "added": self.added, "relu": self.relu}
        layout = {"blocks": self.blocks} if self.blocks else {}
        return {**self.convolution.kernel_attrs(is_train), **normed, **follows, **layout}

    def inplace_options(self) -> list[tuple[int, int]]:
        """What is added is read where the sum is written."""
        return [(len(self.list_arguments()) - 1, 0)] if self.added else []

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """Those of the convolution; where channels in blocks go one by one, nothing is copied."""
        if self.blocks and self.convolution.attrs["num_group"] > 1:
            return []
        return self.convolution.cpu_inplace_options()


@lru_cache(maxsize=1024)
def convolution_block(
    convolution: Convolution, norm: BatchNorm | None, added: bool, relu: bool, blocks: int = 0
) -> ConvolutionBlock:
    """The card of these parts, the same object for the same ones."""
    return ConvolutionBlock(convolution, norm, added, relu, blocks)
