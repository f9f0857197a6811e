"""Regions in which there may be an object, from scores and offsets of anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .bounding_box import Boxes, Shapes
from .card import MaybeShape, register
from .param import Param, Params

__all__ = ["MultiProposal", "Proposal"]


@register
class MultiProposal(Boxes):
    """The regions with the highest scores, of anchors that offsets move, at each place of a map.

    Formula: anchors are squares of ``feature_stride`` in each of ``ratios`` (of height to width)
    and ``scales``. Offsets move center and extents as in `box_decode`, where extents count both
    ends; with ``iou_loss`` they are added to the corners. Corners are cut to the image. Boxes below
    ``rpn_min_size`` times the image's scale, and such beyond the image, get the score -1. The best
    ``rpn_pre_nms_top_n`` take part (all where not above 0); from the highest score down, a box
    stays unless one that stays overlaps it by more than ``threshold``. The first
    ``rpn_post_nms_top_n`` that stay are the result; where there are fewer, they come again.
    Shapes: with ``k`` ratios times scales, ``cls_prob`` is ``(b, 2 * k, h, w)``, scores of objects
    in the second half, ``bbox_pred`` ``(b, 4 * k, h, w)``, ``im_info`` ``(b, 3)``: height, width,
    scale. The output is ``(b * rpn_post_nms_top_n, 5)``: number of the image and corners; with
    ``output_score`` also ``(b * rpn_post_nms_top_n, 1)``. Types: float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> prob, moves = mx.nd.ones((1, 2, 1, 1)), mx.nd.zeros((1, 4, 1, 1))
    >>> info = mx.nd.array([[32, 32, 1]])
    >>> attrs = {"scales": (1,), "ratios": (1,), "rpn_post_nms_top_n": 1}
    >>> print(mx.nd.contrib.MultiProposal(prob, moves, info, **attrs).asnumpy())
    [[ 0.  0.  0. 15. 15.]]
    """

    name = "_contrib_MultiProposal"
    arguments = ("cls_prob", "bbox_pred", "im_info")
    dtypes: ClassVar[tuple[str, ...]] = ("float32",)
    params: ClassVar[Params] = {
        "rpn_pre_nms_top_n": Param("int", 6000, "The most boxes that are looked at."),
        "rpn_post_nms_top_n": Param("int", 300, "The regions of an image.", low=0),
        "threshold": Param("float", 0.7, "The overlap that two regions may have."),
        "rpn_min_size": Param("int", 16, "The least width and height."),
        "scales": Param("floats", (4.0, 8.0, 16.0, 32.0), "The scales of the anchors."),
        "ratios": Param("floats", (0.5, 1.0, 2.0), "The ratios of height to width."),
        "feature_stride": Param("int", 16, "The pixels from one place of the map to the next."),
        "output_score": Param("bool", False, "Whether there is an output for the scores."),
        "iou_loss": Param("bool", False, "Whether offsets are those of corners."),
    }

    def list_outputs(self) -> list[str]:
        """Regions, and scores on request."""
        return ["output", "score"] if self.attrs["output_score"] else ["output"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """All from the scores."""
        kinds = len(self.attrs["ratios"]) * len(self.attrs["scales"])
        prob = self.merged("cls_prob", in_shapes[0], (-1, 2 * kinds, -1, -1))
        pred = self.merged("bbox_pred", in_shapes[1], (prob[0], 4 * kinds, *prob[2:]))
        info = self.merged("im_info", in_shapes[2], (pred[0], 3))
        images, place = info[0], pred[2:]
        self.check_images(images)
        rows = -1 if images < 0 else images * self.attrs["rpn_post_nms_top_n"]
        shapes: list[MaybeShape] = [(images, 2 * kinds, *place), (images, 4 * kinds, *place), info]
        outs: list[MaybeShape] = [(rows, 5), (rows, 1)]
        return shapes, outs[: len(self.list_outputs())], []

    def check_images(self, images: int) -> None:
        """Raises for a number of images that is not taken."""


@register
class Proposal(MultiProposal):
    """The regions of a single image with the highest scores; for more see `MultiProposal`.

    Formula: that of `MultiProposal`. Shapes: those, with one image. Types: float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> prob, moves = mx.nd.ones((1, 2, 1, 1)), mx.nd.zeros((1, 4, 1, 1))
    >>> info = mx.nd.array([[32, 32, 1]])
    >>> attrs = {"scales": (1,), "ratios": (1,), "rpn_post_nms_top_n": 1}
    >>> print(mx.nd.contrib.Proposal(prob, moves, info, **attrs).asnumpy())
    [[ 0.  0.  0. 15. 15.]]
    """

    name = "_contrib_Proposal"

    def check_images(self, images: int) -> None:
        """One image."""
        if images not in (-1, 1):
            raise InvalidArgumentError(
                f"{self.name}: argument 'cls_prob' has {images} images, expected 1; MultiProposal "
                "takes more"
            )
