"""The likelihood of points in time that excite each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from .card import (
    Claims,
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    merge_shapes,
    register,
)
from .family import FLOATS, Backward

__all__ = ["HawkesLL"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]
_INPUTS = ("lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")
_PLACES = ("nk", "k", "k", "nk", "nt", "nt", "n", "n")
"""The extents of each input: sequences, kinds, points."""
_MARKS: Claims = {"marks": ("int32",)}


@register
class HawkesLL(OperatorProperty):
    """The log likelihood of Hawkes processes: points in time that make further ones of their kind
    likelier for a while.

    Formula: at time ``t`` of sequence ``n`` the intensity of kind ``k`` is ``lda[n, k] + alpha[k] *
    beta[k] * s[k](t)``, where ``s[k]`` begins as ``state[n, k]``, decays by ``exp(-beta[k] *
    time)`` and grows by 1 with each point of the kind. Points are ``lags`` after each other and of
    the kinds ``marks``; ``valid_length`` are as many as count, fractions cut. ``out[n]`` is the sum
    of the logarithms of the intensities of the points' kinds at the points, less the integral of
    all intensities up to ``max_time[n]``; ``out_state`` is ``s`` then. A mark that is no kind
    raises IndexOutOfBoundsError. Shapes: ``lda`` and ``state`` are ``(n, k)``, ``alpha`` and
    ``beta`` ``(k,)``, ``lags`` and ``marks`` ``(n, t)``, ``valid_length`` and ``max_time``
    ``(n,)``, ``out`` ``(n,)``, ``out_state`` ``(n, k)``. Types: floats, all alike; ``marks`` are
    int32.
    Gradient: of ``out`` by ``lda``, ``alpha`` and ``beta``; as in MXNet none for the other inputs,
    and none of ``out_state``.

    Examples
    --------
    >>> lda, alpha, beta = mx.nd.array([[1]]), mx.nd.array([0.5]), mx.nd.array([1])
    >>> lags, marks = mx.nd.array([[1, 1]]), mx.nd.array([[0, 0]], dtype="int32")
    >>> valid, end = mx.nd.array([2]), mx.nd.array([3])
    >>> points = (mx.nd.zeros((1, 1)), lags, marks, valid, end)
    >>> found = mx.nd.contrib.hawkesll(lda, alpha, beta, *points)
    >>> print(*(x.asnumpy().round(4) for x in found))
    [-3.5795] [[0.5032]]
    """

    name = "_contrib_hawkesll"
    arguments = _INPUTS
    dtypes = FLOATS
    argument_dtypes: ClassVar[Claims] = _MARKS

    def list_outputs(self) -> list[str]:
        """The likelihoods and the states."""
        return ["output", "out_state"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Each of the three extents from any input."""
        return self._solve(in_shapes, (None, None))

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """As forward, with the outputs known, too."""
        return self._solve(in_shapes, out_shapes)[0]

    def _solve(self, ins: Sequence[MaybeShape], outs: Sequence[MaybeShape]) -> Shapes:
        extents: dict[str, int] = dict.fromkeys("nkt", -1)
        names, places = (*_INPUTS, "output", "out_state"), (*_PLACES, "n", "nk")
        for name, place, shape in zip(names, places, (*ins, *outs), strict=True):
            found = merge_shapes(self.name, name, shape, tuple(extents[p] for p in place))
            extents.update(zip(place, found or (), strict=True))
        known = [tuple(extents[p] for p in place) for place in places]
        return list(known[:8]), list(known[8:]), []

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """Marks are int32."""
        args, outs, aux = super().infer_type(in_types)
        place = _INPUTS.index("marks")
        return [*args[:place], args[place] or "int32", *args[place + 1 :]], outs, aux

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's, for the parameters."""
        back = "_backward_contrib_hawkesll"
        return [*graph.op(back, graph.out_grad[0], *graph.in_data), *[None] * 5]


@register
class BackwardHawkesLL(Backward):
    """The gradients of hawkesll."""

    name = "_backward_contrib_hawkesll"
    arguments = ("out_grad", *_INPUTS)
    gradients: ClassVar[Mapping[str, str]] = {f"{n}_grad": n for n in _INPUTS[:3]}
    dtypes = FLOATS
    argument_dtypes: ClassVar[Claims] = _MARKS
