"""Histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, merge_shapes, register
from .family import NUMBERS, Types
from .param import Param, Params
from .shapes import require_rank

__all__: list[str] = []


@register
class Histogram(OperatorProperty):
    """How many elements fall into each of several bins, and the edges of the bins.

    Formula: ``count[i]`` is the number of elements ``x`` with ``edges[i] <= x < edges[i + 1]``; the
    end of the last bin is in it, too. ``edges`` are ``bins``, in ascending order, or ``bin_cnt``
    bins of one width over ``range``. Shapes: ``count`` is ``(n,)``, ``bins`` and ``edges`` are
    ``(n + 1,)``. Types: numbers; ``count`` is int64, all else is alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([0, 1, 2, 2, 3, 4])
    >>> count, edges = mx.nd.histogram(data, bins=5, range=(0, 5))
    >>> print(count.asnumpy(), edges.asnumpy())
    [1 1 2 1 1] [0. 1. 2. 3. 4. 5.]
    """

    name = "_histogram"
    arguments = ("data", "bins")
    differentiable = False
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "bin_cnt": Param("int", None, "How many bins, in place of edges.", low=1, optional=True),
        "range": Param("floats", None, "Ends of the first and last bin.", optional=True, most=2),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        count, ends = self.attrs["bin_cnt"], self.attrs["range"]
        if (count is None) != (ends is None):
            raise InvalidArgumentError(
                f"{self.name}: attributes 'bin_cnt' and 'range' must be given both or not at all, "
                f"got {count} and {ends}"
            )
        if ends is not None and not (len(ends) == 2 and -_MOST <= ends[0] <= ends[1] <= _MOST):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'range' must be two finite numbers, the smaller first, "
                f"got {ends}"
            )

    def list_arguments(self) -> list[str]:
        """No edges where bins are counted."""
        return ["data"] if self.attrs["bin_cnt"] is not None else ["data", "bins"]

    def list_outputs(self) -> list[str]:
        """MXNet's names."""
        return ["output0", "output1"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One edge more than bins."""
        count = self.attrs["bin_cnt"]
        if count is not None:
            return list(in_shapes), [(count,), (count + 1,)], []
        data, bins = in_shapes
        bins = (-1,) if bins is None else bins
        require_rank(self.name, "bins", bins, 1, "edges")
        if 0 <= bins[0] < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'bins' has shape {bins}, expected at least 2 edges"
            )
        return [data, bins], [(max(bins[0] - 1, -1) if bins[0] > 0 else -1,), bins], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Edges follow from either output."""
        count, edges = out_shapes
        if len(in_shapes) == 1:
            return list(in_shapes)
        data, bins = in_shapes
        bins = merge_shapes(self.name, "bins", bins, edges)
        if count is not None and len(count) == 1 and count[0] >= 0:
            bins = merge_shapes(self.name, "bins", bins, (count[0] + 1,))
        return [data, bins]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Counts are int64."""
        types, (_, edges), states = super().infer_type(in_types)
        return types, ["int64", edges], states


_MOST = 1e300
"""Beyond that a range has no width."""
