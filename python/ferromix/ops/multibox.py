"""Anchors over an image, what a detector is to learn for them, and what it detects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .bounding_box import Boxes, Shapes
from .card import MaybeShape, merge_shapes, register
from .param import Param, Params
from .shapes import require_rank

__all__ = ["MultiBoxDetection", "MultiBoxPrior", "MultiBoxTarget"]

_VARIANCES = Param("floats", (0.1, 0.1, 0.2, 0.2), "The scales of the four offsets.")


class MultiBox(Boxes):
    """The base of these operators, which take single precision, as in MXNet."""

    dtypes: ClassVar[tuple[str, ...]] = ("float32",)
    lengths: ClassVar[dict[str, int]] = {"variances": 4}
    """How many numbers an attribute has."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for name, length in self.lengths.items():
            if len(self.attrs[name]) != length:
                raise InvalidArgumentError(
                    f"{self.name}: attribute '{name}' must be {length} floats, got "
                    f"{self.attrs[name]}"
                )

    def anchors(self, counts: Sequence[int], offsets: int = -1) -> int:
        """The number of anchors, from extents that are it, and one that is four times it."""
        known = {n for n in counts if n >= 0}
        if offsets >= 0:
            known.add(offsets // 4)
        if len(known) > 1 or (offsets >= 0 and offsets % 4):
            raise InvalidArgumentError(
                f"{self.name}: arguments must have one number of anchors, got {sorted(known)}"
                + (f" and {offsets} offsets, four for each" if offsets >= 0 else "")
            )
        return known.pop() if known else -1


@register
class MultiBoxPrior(MultiBox):
    """Anchors around each place of a layer, as parts of the image.

    Formula: around ``((x + offsets[1]) * step_x, (y + offsets[0]) * step_y)`` an anchor for each of
    ``sizes`` with the first of ``ratios``, and one for each further ratio with the first size, of
    height ``size / sqrt(ratio)`` and width ``size * sqrt(ratio) * h / w``. Steps are ``1 / w`` and
    ``1 / h`` unless both of ``steps`` are above 0. ``clip`` cuts corners to 0 and 1.
    Shapes: ``data`` is ``(b, c, h, w)``, of which only the shape matters, ``out``
    ``(1, h * w * (sizes + ratios - 1), 4)``. Types: float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.contrib.MultiBoxPrior(mx.nd.zeros((1, 1, 1, 2)), sizes=(0.5,)).asnumpy()[0])
    [[0.125 0.25  0.375 0.75 ]
     [0.625 0.25  0.875 0.75 ]]
    """

    name = "_contrib_MultiBoxPrior"
    lengths: ClassVar[dict[str, int]] = {"steps": 2, "offsets": 2}
    params: ClassVar[Params] = {
        "sizes": Param("floats", (1.0,), "The sizes, as parts of the image."),
        "ratios": Param("floats", (1.0,), "The ratios of width to height."),
        "clip": Param("bool", False, "Whether anchors end where the image does."),
        "steps": Param("floats", (-1.0, -1.0), "The steps down and to the right."),
        "offsets": Param("floats", (0.5, 0.5), "Where centers are in a step, down and right."),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for name in ("sizes", "ratios"):
            if not self.attrs[name]:
                raise InvalidArgumentError(f"{self.name}: attribute '{name}' must not be empty")
        down, right = self.attrs["steps"]
        if down * right < 0:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'steps' must have both steps or none, got {down}, {right}"
            )

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """As many anchors around each place as sizes and further ratios."""
        data = in_shapes[0] or (-1,) * 4
        require_rank(self.name, "data", data, 4, "b, c, h, w")
        each = len(self.attrs["sizes"]) + len(self.attrs["ratios"]) - 1
        height, width = data[2:]
        count = -1 if min(height, width) < 0 else height * width * each
        return [data], [(1, count, 4)], []

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [0]


@register
class MultiBoxTarget(MultiBox):
    """What a detector is to learn: for each anchor a class, and offsets to a box.

    Formula: of an image, the labels up to the first of class -1 count. Each gets the free anchor
    that it overlaps most (by more than 1e-6), the largest overlaps first. Any other anchor gets the
    label that it overlaps most, if that is by more than ``overlap_threshold``, which is above 0.
    All others are negative; or with ``negative_mining_ratio > 0`` so many times the matched ones,
    that overlap labels by less than ``negative_mining_thresh`` and look least like background, and
    those left have ``ignore_label``.
    ``cls_target`` is the label's class plus 1, and 0 for negative ones; ``loc_target`` the offsets
    from anchor to box, over ``variances``, and ``loc_mask`` 1, of matched ones. An image without
    labels is ignored.
    Shapes: ``anchor`` is ``(1, n, 4)``, ``label`` ``(b, m, 5)`` or wider, with class and corners,
    ``cls_pred`` ``(b, classes, n)``, the outputs are ``(b, n * 4)`` twice and ``(b, n)``.
    Types: float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> anchor = mx.nd.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    >>> label = mx.nd.array([[[3, 0, 0, 0.5, 0.4]]])
    >>> out = mx.nd.contrib.MultiBoxTarget(anchor, label, mx.nd.zeros((1, 2, 2)))
    >>> print(out[2].asnumpy(), out[1].asnumpy())
    [[4. 0.]] [[1. 1. 1. 1. 0. 0. 0. 0.]]
    """

    name = "_contrib_MultiBoxTarget"
    arguments = ("anchor", "label", "cls_pred")
    params: ClassVar[Params] = {
        "overlap_threshold": Param("float", 0.5, "The overlap above which an anchor is matched."),
        "ignore_label": Param("float", -1.0, "The class of anchors that are to be ignored."),
        "negative_mining_ratio": Param(
            "float", -1.0, "Negative anchors for each matched one; all others where not above 0."
        ),
        "negative_mining_thresh": Param("float", 0.5, "The overlap below which one is negative."),
        "minimum_negative_samples": Param("int", 0, "Of no effect, as in MXNet."),
        "variances": _VARIANCES,
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["negative_mining_ratio"] > 0 and self.attrs["negative_mining_thresh"] <= 0:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'negative_mining_thresh' must be above 0, got "
                f"{self.attrs['negative_mining_thresh']}"
            )

    def list_outputs(self) -> list[str]:
        """Offsets, their mask, and classes."""
        return ["loc_target", "loc_mask", "cls_target"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Batches from labels and predictions, anchors from anchors and predictions."""
        anchor = self.merged("anchor", in_shapes[0], (1, -1, 4))
        label = self.merged("label", in_shapes[1], (-1, -1, -1))
        if 0 <= label[2] < 5:
            raise InvalidArgumentError(
                f"{self.name}: argument 'label' has shape {label}, expected (b, m, 5) or wider"
            )
        pred = self.merged("cls_pred", in_shapes[2], (label[0], -1, anchor[1]))
        label, n = (pred[0], *label[1:]), pred[2]
        offsets = (pred[0], -1 if n < 0 else n * 4)
        return [(1, n, 4), label, pred], [offsets, offsets, (pred[0], n)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Batches and anchors of any output."""
        target, mask, classes = (self.merged("cls_pred", s, (-1, -1)) for s in out_shapes)
        offsets = self.merged("cls_pred", target, mask)
        n = self.anchors([classes[1]], offsets[1])
        known = (self.merged("cls_pred", classes[:1], offsets[:1])[0], -1, n)
        return [*in_shapes[:2], merge_shapes(self.name, "cls_pred", in_shapes[2], known)]


@register
class MultiBoxDetection(MultiBox):
    """The boxes that a detector sees, each with class and score, the highest scores first.

    Formula: of each anchor the class with the highest probability, without the first, which is
    background, where that is ``threshold`` or more; and its box, to which the offsets times
    ``variances`` move it. From the highest score down, ``nms_topk`` of them where that is above 0,
    a box stays unless one that stays, of the same class or of any with ``force_suppress``, overlaps
    it by ``nms_threshold`` or more; the class of the others becomes -1. Without a threshold in (0,
    1] all stay, in the order of the anchors. Rows that are left are -1.
    Shapes: ``cls_prob`` is ``(b, classes, n)``, ``loc_pred`` ``(b, n * 4)``, ``anchor`` ``(1, n,
    4)``, ``out`` ``(b, n, 6)``: class, score, corners. Types: float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> prob, loc = mx.nd.array([[[0.1, 0.8], [0.9, 0.2]]]), mx.nd.zeros((1, 8))
    >>> anchor = mx.nd.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    >>> print(mx.nd.contrib.MultiBoxDetection(prob, loc, anchor, threshold=0.5).asnumpy()[0])
    [[ 0.   0.9  0.   0.   0.5  0.5]
     [-1.  -1.  -1.  -1.  -1.  -1. ]]
    """

    name = "_contrib_MultiBoxDetection"
    arguments = ("cls_prob", "loc_pred", "anchor")
    params: ClassVar[Params] = {
        "clip": Param("bool", True, "Whether boxes end where the image does."),
        "threshold": Param("float", 0.01, "The least probability of what is detected."),
        "background_id": Param("int", 0, "The class of the background; of no effect, as in MXNet."),
        "nms_threshold": Param("float", 0.5, "The overlap from which on boxes exclude each other."),
        "force_suppress": Param("bool", False, "Whether boxes of any class exclude each other."),
        "variances": _VARIANCES,
        "nms_topk": Param("int", -1, "The most boxes that are looked at; all where negative."),
    }

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Batches and anchors from each argument."""
        prob = self.merged("cls_prob", in_shapes[0], (-1, -1, -1))
        loc = self.merged("loc_pred", in_shapes[1], (prob[0], -1))
        anchor = self.merged("anchor", in_shapes[2], (1, -1, 4))
        n = self.anchors([prob[2], anchor[1]], loc[1])
        prob = (loc[0], prob[1], n)
        shapes: list[MaybeShape] = [prob, (loc[0], -1 if n < 0 else n * 4), (1, n, 4)]
        return shapes, [(loc[0], n, 6)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Batches and anchors of the output."""
        out = self.merged("cls_prob", out_shapes[0], (-1, -1, 6))
        known = (out[0], -1, out[1])
        return [merge_shapes(self.name, "cls_prob", in_shapes[0], known), *in_shapes[1:]]
