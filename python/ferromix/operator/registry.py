"""How operators of one's own get their names, and what is known by which name."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any, TypeVar, overload

from .. import ndarray
from ..error import ArgumentTypeError
from ..literal import brief
from ..ops import card, custom
from .checks import require_card, require_name
from .property import OperatorProperty, card_of

__all__ = [
    "OperatorArguments",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

_Class = TypeVar("_Class", bound=type)


@overload
def register(reg_name: str) -> Callable[[_Class], _Class]: ...
@overload
def register(reg_name: _Class) -> _Class: ...
def register(reg_name: Any) -> Any:
    """Registers an operator; for use as a decorator of the class of its properties.

    ``@register("name")`` makes a :class:`CustomOpProp` the operator ``Custom`` of that `op_type`.
    Another one under a name that is taken replaces the first, with a warning; symbols that were
    made before keep theirs. ``@register`` makes an :class:`OperatorProperty` an operator of
    ``mx.nd`` and ``mx.sym``, under its own name.

    Parameters
    ----------
    reg_name
        What ``op_type`` is called; or a subclass of :class:`OperatorProperty`.

    Raises
    ------
    ArgumentTypeError
        A name that is no string, or something that is no class.
    InvalidArgumentError
        An :class:`OperatorProperty` without a name, or one whose name is taken.

    Examples
    --------
    >>> import ferromix as mx
    >>> class Square(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] ** 2)
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])
    >>> @mx.operator.register("square_of_mine")
    ... class SquareProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Square()
    >>> x = mx.nd.array([1, 2, 3])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.Custom(x, op_type="square_of_mine")
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4., 6.], dtype=float32)
    """
    if isinstance(reg_name, type) and issubclass(reg_name, OperatorProperty):
        _register_card(reg_name)
        return reg_name
    if not isinstance(reg_name, str):
        raise ArgumentTypeError(
            f"register: expected a name, or a subclass of OperatorProperty, got {brief(reg_name)}"
        )

    def do_register(prop_cls: _Class) -> _Class:
        if not callable(prop_cls):
            raise ArgumentTypeError(
                f"register: '{reg_name}' must be a CustomOpProp class, got {brief(prop_cls)}"
            )
        if isinstance(prop_cls, type) and issubclass(prop_cls, OperatorProperty):
            raise ArgumentTypeError(
                f"register: {prop_cls.__name__} is an OperatorProperty, which has a name of its "
                "own; write @register without one"
            )
        if custom.enter(reg_name, prop_cls):
            warnings.warn(
                f"the custom operator '{reg_name}' was registered before, and is replaced",
                stacklevel=2,
            )
            card.forget()
            ndarray.custom.forget()
        return prop_cls  # type: ignore[return-value] - as MXNet's, it gives back what it is given

    return do_register


def _register_card(cls: type[OperatorProperty]) -> None:
    require_name(f"register: {cls.__name__}", getattr(cls, "name", None))
    require_card(cls)
    card.register(card_of(cls))


def get_all_registered_operators() -> list[str]:
    """The names of all operators, aliases and hidden ones included, sorted.

    Examples
    --------
    >>> import ferromix as mx
    >>> "Convolution" in mx.operator.get_all_registered_operators()
    True
    """
    return card.names(hidden=True)


OperatorArguments = namedtuple("OperatorArguments", ["narg", "names", "types"])
"""The number of an operator's arguments and attributes, their names, and what each is."""


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """What an operator takes: its inputs, then its attributes.

    Raises
    ------
    InvalidArgumentError
        For an unknown operator; the message lists the nearest ones.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.operator.get_operator_arguments("Flatten").names
    ['data']
    """
    found = card.find(op_name)
    inputs = [*found.arguments, *found.auxiliary_states]
    kinds = ["NDArray-or-Symbol"] * len(inputs)
    if found.variadic is not None or found.open_inputs:
        inputs, kinds = ["data"], ["NDArray-or-Symbol[]"]
    for name, param in found.params.items():
        default = "required" if param.required else f"optional, default={param.default!r}"
        inputs.append(name)
        kinds.append(f"{param.describe()}, {default}")
    return OperatorArguments(len(inputs), inputs, kinds)
