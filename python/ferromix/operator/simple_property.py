"""What a :class:`SimpleOp` becomes: a property and an operator, which call its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..context import Context
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from ..ops.card import MaybeShape
from ..ops.param import Param
from ..ops.shapes import is_known
from .custom import assign
from .property import OpContext, Operator, OperatorProperty

if TYPE_CHECKING:
    from .simple import SimpleOp

__all__ = ["EnvArguments", "environment", "property_of"]


@dataclass(frozen=True, slots=True)
class EnvArguments:
    """What a function gets besides arrays.

    Attributes
    ----------
    scalar
        The number, if the operator takes one; otherwise 0.
    kwargs
        The keyword arguments, if it takes any.
    resource
        The resources that it asked for.
    ctx
        Whether to train, and where.
    """

    scalar: float
    kwargs: Mapping[str, Any]
    resource: Sequence[Any]
    ctx: OpContext


def property_of(simple: SimpleOp) -> type[OperatorProperty]:
    """The property that asks a SimpleOp for everything."""

    class Property(OperatorProperty):
        name: ClassVar[str] = simple.name
        arguments: ClassVar[tuple[str, ...]] = simple.arguments
        params: ClassVar[Mapping[str, Param]] = simple.params()
        differentiable: ClassVar[bool] = bool(simple.gradients)

        def infer_shape(
            self, in_shapes: Sequence[MaybeShape]
        ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
            if simple.shape_function is None:
                return super().infer_shape(in_shapes)
            if not all(map(is_known, in_shapes)):
                return list(in_shapes), [None], []
            return list(in_shapes), [simple.shape_function(*in_shapes, environment(self))], []

        def declare_backward_dependency(
            self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
        ) -> list[int]:
            rest = {"T1": out_data, "T2": in_data}.get(simple.kind or "", ())
            return [*out_grad, *rest]

        def forward_inplace_option(
            self, in_data: Sequence[int], out_data: Sequence[int]
        ) -> list[tuple[int, int]]:
            return [(in_data[i], out_data[o]) for i, o in simple.forward_inplace]

        def backward_inplace_option(
            self,
            out_grad: Sequence[int],
            in_data: Sequence[int],
            out_data: Sequence[int],
            in_grad: Sequence[int],
        ) -> list[tuple[int, int]]:
            return [(out_grad[i], in_grad[o]) for i, o in simple.backward_inplace]

        def forward_resource(self, in_shapes: Sequence[MaybeShape]) -> list[Any]:
            return simple.resources

        def backward_resource(self, in_shapes: Sequence[MaybeShape]) -> list[Any]:
            return simple.resources

        def create_operator(self, ctx: Context) -> Operator:
            return _Operator(simple, self, ctx.device_type)

    Property.__name__ = Property.__qualname__ = simple.name
    Property.__doc__ = simple.description
    return Property


def environment(made: Any, ctx: OpContext | None = None) -> Any:
    """What the functions of a property get besides arrays."""
    attrs = dict(made.attrs)
    scalar = attrs.pop("scalar", 0.0) if set(attrs) == {"scalar"} else 0.0
    return EnvArguments(scalar, attrs, ctx.requested if ctx else [], ctx)  # type: ignore[arg-type]


class _Operator(Operator):
    """Calls Python functions, and writes what they return as it is asked for."""

    def __init__(self, simple: SimpleOp, made: OperatorProperty, device: str) -> None:
        self.simple, self.made = simple, made
        self.function = simple.choose("function", simple.functions, device)
        self.device = device

    def forward(
        self,
        ctx: OpContext,
        in_data: list[Any],
        req: list[str],
        out_data: list[Any],
        aux: list[Any],
    ) -> None:
        found = self.function(*in_data, environment(self.made, ctx))
        self._assign("function", out_data[0], req[0], found)

    def backward(
        self,
        ctx: OpContext,
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        req: list[str],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        simple = self.simple
        function = simple.choose("gradient", simple.gradients, self.device)
        given = {"T1": out_data, "T2": in_data}.get(simple.kind or "", [])
        arguments = (*out_grad, *given, environment(self.made, ctx))
        if isinstance(function, (list, tuple)):
            found: Any = [one(*arguments) for one in function]
        else:
            found = function(*arguments)
        if not isinstance(found, (list, tuple)):
            found = [found]
        if len(found) != len(in_grad):
            raise InvalidArgumentError(
                f"{simple.name}: its gradient must return {len(in_grad)} arrays, one for each "
                f"input, returned {len(found)}"
            )
        for target, request, value in zip(in_grad, req, found, strict=True):
            self._assign("gradient", target, request, value)

    def _assign(self, what: str, target: Any, request: str, found: Any) -> None:
        if not isinstance(found, (NDArray, np.ndarray, np.generic)) or found.shape != target.shape:
            kind = type(found).__name__
            given = f"{kind} of shape {found.shape}" if hasattr(found, "shape") else kind
            raise InvalidArgumentError(
                f"{self.simple.name}: its {what} must return an array of shape {target.shape}, "
                f"returned {given}"
            )
        assign(target, request, found)
