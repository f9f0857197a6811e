"""Non-maximum suppression: of boxes that overlap, the one with the highest score stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .bounding_box import form
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, Backward, Types
from .param import Param, Params

__all__ = ["BoxNms"]


@register
class BoxNms(OperatorProperty):
    """Of rows with a box and a score, in order, those that no better one overlaps.

    Formula: rows with a score above ``valid_thresh`` and not of the class ``background_id`` count,
    the best ``topk`` of them where that is above 0. From the highest score down, a row stays unless
    one that stays, of the same class (the whole number of element ``id_index``) or of any with
    ``force_suppress``, overlaps it by more than ``overlap_thresh``, by intersection over union.
    What stays comes first; the rest is -1. With ``topk=0`` the rows are as they were. Boxes whose
    first coordinate is negative keep their form, as in MXNet.
    Shapes: ``data`` and ``out`` are ``(..., n, k)``, with rows of ``k`` numbers. Types: floats.
    Gradient: ``out_grad`` of each row that stays, where the row came from; 0 elsewhere.

    Examples
    --------
    >>> rows = mx.nd.array([[0, 0.5, 1, 1, 2, 2], [1, 0.4, 1, 1, 2, 2], [2, 0.6, 5, 5, 7, 8]])
    >>> print(mx.nd.contrib.box_nms(rows).asnumpy())
    [[ 2.   0.6  5.   5.   7.   8. ]
     [ 0.   0.5  1.   1.   2.   2. ]
     [-1.  -1.  -1.  -1.  -1.  -1. ]]
    """

    name = "_contrib_box_nms"
    aliases = ("_contrib_box_non_maximum_suppression",)
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    private_outputs: ClassVar[int] = 1
    params: ClassVar[Params] = {
        "overlap_thresh": Param("float", 0.5, "The overlap that two boxes may have."),
        "valid_thresh": Param("float", 0.0, "The score that a row must exceed."),
        "topk": Param("int", -1, "The most rows that take part; all where negative."),
        "coord_start": Param("int", 2, "The first of the four coordinates."),
        "score_index": Param("int", 1, "The element that is the score."),
        "id_index": Param("int", -1, "The element that is the class; none where negative."),
        "background_id": Param("int", -1, "The class that does not count."),
        "force_suppress": Param("bool", False, "Whether boxes of any class exclude each other."),
        "in_format": form("corner", "What the coordinates are"),
        "out_format": form("corner", "What they become"),
    }

    def list_outputs(self) -> list[str]:
        """The rows, and where they came from."""
        return ["output0", "output1"]

    def num_visible_outputs(self) -> int:
        """Where they came from is for the gradient."""
        return 1

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The same, and a number for each row."""
        (data,) = in_shapes
        if data is None:
            return [None], [None, None], []
        if len(data) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected two dimensions or more, "
                "the last two for boxes and their numbers"
            )
        if data[-1] >= 0:
            self._check(data[-1])
        return [data], [data, (*data[:-1], 1)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Places are whole numbers."""
        return list(in_types), [in_types[0], "int64"], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Each row back to its place."""
        entries = (graph.out_grad[0], graph.out_data[1])
        return [graph.op("_backward_contrib_box_nms", *entries)[0]]

    def _check(self, width: int) -> None:
        """That there are such elements, and none of them twice."""
        first = self.attrs["coord_start"]
        for name, last in (("coord_start", 3), ("score_index", 0), ("id_index", 0)):
            place = self.attrs[name]
            if name == "id_index" and place < 0:
                continue
            inside = place >= 0 and place + last < width
            if not inside or (last == 0 and first <= place <= first + 3):
                raise InvalidArgumentError(
                    f"{self.name}: attribute '{name}'={place} does not fit rows of {width} numbers "
                    f"with the coordinates {first} to {first + 3}"
                )


@register
class BackwardBoxNms(Backward):
    """The gradient of each row, in the place that the row came from."""

    name = "_backward_contrib_box_nms"
    arguments = ("out_grad", "record")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "out_grad"}
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    argument_dtypes: ClassVar[Claims] = {"record": ("int64",)}
