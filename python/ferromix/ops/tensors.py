"""Operators on any number of tensors at once, for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..literal import MOST
from .card import MaybeShape, OperatorProperty, register
from .family import ALL_TYPES, FLOATS, Types
from .param import Param, Params

__all__ = ["AllFinite", "MultiAllFinite", "MultiSumSq", "ResetArrays"]

COUNT = Param("int", doc="The number of inputs.", low=1, high=MOST)
INIT = Param(
    "bool", True, "Whether 1 is written too; else only 0 is, so that runs can share an output."
)


class Tensors(OperatorProperty):
    """The base: inputs of any shapes, and one output of numbers in float32."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    differentiable: ClassVar[bool] = False
    variadic = "num_arrays"

    def list_arguments(self) -> list[str]:
        """MXNet's names."""
        return [f"array_{i}" for i in range(self.attrs["num_arrays"])]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One number."""
        return list(in_shapes), [(1,)], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Inputs of one type."""
        return super().infer_type(in_types)[0], ["float32"], []


@register
class MultiSumSq(Tensors):
    """The sums of the squares of tensors.

    Formula: ``out[i] = sum(array_i ** 2)``. Shapes: inputs of any, ``out`` is ``(num_arrays,)``.
    Types: floats, all inputs alike; ``out`` is float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> a, b = mx.nd.array([3, 4]), mx.nd.array([[1, 2], [2, 4]])
    >>> print(mx.nd.multi_sum_sq(a, b, num_arrays=2).asnumpy())
    [25. 25.]
    """

    name = "multi_sum_sq"
    params: ClassVar[Params] = {"num_arrays": COUNT}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A number for each input."""
        return list(in_shapes), [(len(in_shapes),)], []


@register
class AllFinite(Tensors):
    """Whether all elements are finite.

    Formula: ``out = 1`` if no element is infinite or NaN, else 0. Without ``init_output`` 1 is not
    written, so ``out=`` must be given. Shapes: any, ``out`` is ``(1,)``. Types: floats; ``out`` is
    float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.all_finite(mx.nd.array([1, 2])).asnumpy())
    [1.]
    >>> print(mx.nd.all_finite(mx.nd.array([1, float("inf")])).asnumpy())
    [0.]
    """

    name = "all_finite"
    variadic = None
    params: ClassVar[Params] = {"init_output": INIT}

    def list_arguments(self) -> list[str]:
        """One input."""
        return list(self.arguments)


@register
class MultiAllFinite(Tensors):
    """Whether all elements of several tensors are finite.

    Formula: ``out = 1`` if no element of any input is infinite or NaN, else 0. Without
    ``init_output`` 1 is not written, so ``out=`` must be given. Shapes: any, ``out`` is ``(1,)``.
    Types: floats, all inputs alike; ``out`` is float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> a, b = mx.nd.array([1, 2]), mx.nd.array([[float("nan")]])
    >>> print(mx.nd.multi_all_finite(a, b, num_arrays=2).asnumpy())
    [0.]
    """

    name = "multi_all_finite"
    params: ClassVar[Params] = {
        "num_arrays": Param("int", 1, "The number of inputs.", low=1, high=MOST),
        "init_output": INIT,
    }


@register
class ResetArrays(Tensors):
    """Sets all elements of several tensors to 0, in place; there is no output.

    Formula: ``array_i = 0``. Shapes: any. Types: all.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> a, b = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> mx.nd.reset_arrays(a, b, num_arrays=2)
    []
    >>> print(a.asnumpy(), b.asnumpy())
    [0. 0.] [0.]
    """

    name = "reset_arrays"
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    params: ClassVar[Params] = {"num_arrays": COUNT}

    def list_outputs(self) -> list[str]:
        """None."""
        return []

    def mutated_inputs(self) -> list[int]:
        """All."""
        return list(range(self.attrs["num_arrays"]))

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Nothing follows."""
        return list(in_shapes), [], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Each input has a type of its own."""
        return list(in_types), [], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The kernel reads off its arguments how many there are."""
        return {}
