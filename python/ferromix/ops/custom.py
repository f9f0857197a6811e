"""``Custom``: the operators that users register by name, with MXNet's properties of strings."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ..context import Context
from ..error import InvalidArgumentError
from ..literal import brief
from .card import register
from .own import Desc, OwnOperator, Run
from .own_storage import says_storage
from .param import Param

__all__ = ["Custom", "enter", "property_of", "says_of_storage"]

_CODES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "bfloat16": 12,
}
"""MXNet's numbers of element types."""

_PROPERTIES: dict[str, Callable[..., Any]] = {}


def enter(name: str, properties: Callable[..., Any]) -> bool:
    """Registers a class of properties; whether there was another one of that name."""
    known = name in _PROPERTIES
    _PROPERTIES[name] = properties
    return known


def property_of(name: str) -> Callable[..., Any]:
    """The class of properties of that name.

    Raises
    ------
    InvalidArgumentError
        If none is registered.
    """
    found = _PROPERTIES.get(name)
    if found is None:
        near = difflib.get_close_matches(name, _PROPERTIES, n=3)
        hint = f" (did you mean {', '.join(near)}?)" if near else ""
        raise InvalidArgumentError(
            f"Custom: there is no custom operator {brief(name)}{hint}; register its CustomOpProp "
            "by mx.operator.register before it is used, or loaded"
        )
    return found


def says_of_storage(name: Any) -> bool:
    """Whether the properties of that name say something of storage types."""
    return says_storage(_PROPERTIES.get(name), "infer_storage_type")


@register
class Custom(OwnOperator):
    """An operator that was registered by :func:`ferromix.operator.register`.

    Parameters
    ----------
    *data
        The inputs: the arguments of the operator, then its auxiliary states; also by name.
    op_type : str
        The name under which it was registered.
    **kwargs
        Passed to its ``CustomOpProp``, as strings.

    Examples
    --------
    >>> class Double(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    >>> @mx.operator.register("double")
    ... class DoubleProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Double()
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="double").asnumpy()
    array([2., 4.], dtype=float32)
    """

    name = "Custom"
    params: ClassVar[Mapping[str, Param]] = {
        "op_type": Param("str", doc="The name of the operator.")
    }
    open_attributes: ClassVar[bool] = True

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**{k: v for k, v in attrs.items() if k == "op_type"})
        self.keywords = {k: str(v) for k, v in attrs.items() if k != "op_type"}
        self.attrs |= self.keywords
        self.given |= self.keywords
        self.op_type: str = self.attrs["op_type"]
        self.label = f"Custom operator '{self.op_type}'"
        self.properties = property_of(self.op_type)
        self.own  # noqa: B018 - so that attributes which it refuses do not come up later

    def new_property(self) -> Any:
        """A property of the user's class."""
        try:
            return self.properties(**self.keywords)
        except Exception as error:
            raise InvalidArgumentError(
                f"{self.label}: {_name_of(self.properties)} raised {type(error).__name__}: "
                f"{error}; attributes: {', '.join(self.keywords) or 'none'}"
            ) from error

    def create(self, made: Any, context: Context, arguments: Sequence[Desc], aux: Any) -> Any:
        """The user's ``CustomOp``."""
        descs = (*arguments, *aux)
        shapes = [list(shape) for shape, _ in descs]
        operator = self.ask(made, "create_operator", context, shapes, [_CODES[t] for _, t in descs])
        return self.require_operator(operator, "forward", "backward")

    def run_forward(self, operator: Any, run: Run) -> None:
        """``CustomOp.forward``."""
        operator.forward(
            is_train=run.is_train,
            req=run.req,
            in_data=run.in_data,
            out_data=run.out_data,
            aux=run.aux,
        )

    def run_backward(self, operator: Any, run: Run) -> None:
        """``CustomOp.backward``."""
        operator.backward(
            req=run.req,
            out_grad=run.out_grad,
            in_data=run.in_data,
            out_data=run.out_data,
            in_grad=run.in_grad,
            aux=run.aux,
        )


def _name_of(properties: Callable[..., Any]) -> str:
    return getattr(properties, "__name__", repr(properties))
