"""Casts between floats for mixed precision; other types pass unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from ..literal import MOST
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .elemwise import Cast
from .family import ALL_TYPES, Types, numbered_outputs
from .param import Param, Params

__all__ = ["AmpCast", "AmpMulticast"]

HALVES = ("float16", "bfloat16")
LOW = ("float32", *HALVES)
"""The types that take part in mixed precision."""


@register
class AmpCast(Cast):
    """The elements converted to another type, if they are floats of at most 32 bits.

    Formula: ``out = data`` as ``dtype``; ``out = data`` for other types. Shapes: any. Types: from
    any to any.
    Gradient: ``data_grad = out_grad`` as the type of ``data``.

    Examples
    --------
    >>> print(mx.nd.amp_cast(mx.nd.array([1.5]), dtype="float16").dtype)
    <class 'numpy.float16'>
    >>> print(mx.nd.amp_cast(mx.nd.array([1], dtype="int32"), dtype="float16").dtype)
    <class 'numpy.int32'>
    """

    name = "amp_cast"
    aliases: ClassVar[tuple[str, ...]] = ()
    kernel = "Cast"
    params: ClassVar[Params] = {"dtype": Param("dtype", doc="The type of the output.")}

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The attribute for floats of at most 32 bits, the type of the input for others."""
        (given,) = in_types
        found = self.attrs["dtype"] if given in LOW else given
        return [given], [found], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The kernel reads both types off its arguments."""
        return {}


@register
class AmpMulticast(OperatorProperty):
    """Inputs of different precision, converted to the widest of their types.

    Formula: ``out_i = arg_i`` as the widest (with ``cast_narrow`` the narrowest) of the inputs'
    float types of at most 32 bits; inputs of other types stay as they are. Shapes: each output
    has the shape of its input. Types: all.
    Gradient: the gradient of each output as the type of its input.

    Examples
    --------
    >>> half, single = mx.nd.ones((2,), dtype="float16"), mx.nd.ones((2,))
    >>> print([a.dtype.__name__ for a in mx.nd.amp_multicast(half, single, num_outputs=2)])
    ['float32', 'float32']
    """

    name = "amp_multicast"
    variadic = "num_outputs"
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    params: ClassVar[Params] = {
        "num_outputs": Param("int", doc="The number of inputs and outputs.", low=1, high=MOST),
        "cast_narrow": Param("bool", False, "Whether to convert to the narrowest type."),
    }

    def list_arguments(self) -> list[str]:
        """MXNet's names."""
        return [f"data_{i}" for i in range(self.attrs["num_outputs"])]

    def list_outputs(self) -> list[str]:
        """One for each input."""
        return numbered_outputs(self.attrs["num_outputs"])

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Each output has the shape of its input."""
        return list(in_shapes), list(in_shapes), []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Each input has the shape of its output."""
        rows = zip(self.list_arguments(), in_shapes, out_shapes, strict=True)
        return [merge_shapes(self.name, *row) for row in rows]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The common type for floats of at most 32 bits, the types of the others unchanged.

        Raises
        ------
        InvalidArgumentError
            With ``cast_narrow``, if both 16-bit types occur.
        """
        given = list(in_types)
        target = self._common({t for t in given if t in LOW})
        return given, [target if t in LOW else t for t in given], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The kernel reads all types off its arguments."""
        return {}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Casts back."""
        pairs = zip(graph.out_grad, graph.in_data, strict=True)
        return [graph.op("_backward_Cast", g, x)[0] for g, x in pairs]

    def _common(self, found: set[str | None]) -> str | None:
        if len(found) <= 1:
            return next(iter(found), None)
        narrow = [t for t in HALVES if t in found]
        if not self.attrs["cast_narrow"]:
            return "float32"
        if len(narrow) > 1:
            raise InvalidArgumentError(
                f"{self.name}: with cast_narrow, inputs of float16 and bfloat16 have no narrowest "
                "type; cast one of them"
            )
        return narrow[0]
