"""Operators as cards: the property that built-in operators have, with an operator in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from .. import resource
from ..context import Context
from ..error import InvalidArgumentError, MXNetError
from ..literal import MOST, brief
from ..ops import card
from ..ops.card import Shape
from ..ops.own import Desc, OwnOperator, Run
from ..ops.param import DTYPES, Param

__all__ = ["OpContext", "Operator", "OperatorProperty", "RunContext", "card_of"]


@dataclass(frozen=True, slots=True)
class RunContext:
    """Where an operator runs.

    Attributes
    ----------
    ctx
        The device.
    """

    ctx: Context


@dataclass(frozen=True, slots=True)
class OpContext:
    """What an operator is told of a run.

    Attributes
    ----------
    is_train
        Whether to train or to predict.
    run_ctx
        Where it runs.
    requested
        The resources that the property asked for, in that order.
    """

    is_train: bool
    run_ctx: RunContext
    requested: list[Any] = field(default_factory=list)


class Operator:
    """What computes an operator; made by :meth:`OperatorProperty.create_operator`.

    There is one object for each call, and one for each use in a bound symbol, so what ``forward``
    keeps in it is there for ``backward``. Any class with these methods will do.
    """

    def forward(
        self,
        ctx: OpContext,
        in_data: list[Any],
        req: list[str],
        out_data: list[Any],
        aux: list[Any],
    ) -> None:
        """Computes `out_data`; `req` is ``"null"``, ``"write"``, ``"inplace"`` or ``"add"``."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

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
        """Computes `in_grad`, the gradients of the inputs, as `req` says.

        What :meth:`OperatorProperty.declare_backward_dependency` leaves out has a shape and a type,
        but no values.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define backward")


class OperatorProperty(card.OperatorProperty):
    """What there is to know of one operator; an instance also holds its attributes, typed.

    It is the class of the built-in operators, whose kernel is an :class:`Operator` in Python. A
    subclass sets `name` and what else differs from the defaults, and is registered by
    :func:`ferromix.operator.register`. From then on ``mx.nd`` and ``mx.sym`` have the operator.

    Attributes
    ----------
    name, aliases
        What the functions are called.
    params
        The attributes: a :class:`Param` for each.
    arguments, auxiliary_states
        The names of the inputs; or override ``list_arguments``, ``list_auxiliary_states``.
    dtypes
        The element types that it takes; by default all.
    argument_dtypes
        Those of arguments whose type need not be that of the others, such as indices: a dict of
        their names.
    differentiable
        Whether there is a gradient.
    attrs
        The values of the attributes, of an instance.

    Examples
    --------
    >>> import ferromix as mx
    >>> class Cube(mx.operator.Operator):
    ...     def forward(self, ctx, in_data, req, out_data, aux):
    ...         mx.operator.assign(out_data[0], req[0], in_data[0] ** 3)
    ...     def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
    ...         mx.operator.assign(in_grad[0], req[0], 3 * in_data[0] ** 2 * out_grad[0])
    >>> @mx.operator.register
    ... class CubeProperty(mx.operator.OperatorProperty):
    ...     '''The third power.'''
    ...     name = "my_cube"
    ...     def create_operator(self, ctx):
    ...         return Cube()
    >>> mx.nd.my_cube(mx.nd.array([1, 2])).asnumpy()
    array([1., 8.], dtype=float32)
    """

    dtypes: ClassVar[tuple[str, ...]] = DTYPES

    def __init__(self, **attrs: Any) -> None:
        self.init(attrs)

    def init(self, kwargs: Mapping[str, Any]) -> None:
        """Sets the attributes from values or strings.

        Raises
        ------
        InvalidArgumentError
            An unknown attribute (the message lists the valid ones), a missing or ill-typed one.
        """
        super().__init__(**kwargs)

    def get_params(self) -> dict[str, str]:
        """All attributes as strings, those with defaults included."""
        return {name: Param.format(value) for name, value in self.attrs.items()}

    def num_outputs(self) -> int:
        """How many outputs there are: as many as :meth:`list_outputs` has names.

        Where this is overridden and that is not, these are called ``output0`` and so on.
        """
        named = type(self).list_outputs is not OperatorProperty.list_outputs
        return len(self.list_outputs()) if named else 1

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        counted = type(self).num_outputs is not OperatorProperty.num_outputs
        count = self.num_outputs() if counted else 1
        if not isinstance(count, int) or not 1 <= count <= MOST:
            raise InvalidArgumentError(
                f"{self.label}: num_outputs must return an int from 1 to {MOST}, "
                f"returned {brief(count)}"
            )
        return ["output"] if count == 1 else [f"output{i}" for i in range(count)]

    def num_visible_outputs(self) -> int:
        """How many of the outputs, the first ones, a user sees."""
        return self.num_outputs()

    def forward_resource(self, in_shapes: Sequence[Any]) -> Sequence[Any]:
        """The kinds of resources that ``forward`` gets as ``ctx.requested``: what
        :func:`ferromix.resource.request` takes."""
        return []

    def backward_resource(self, in_shapes: Sequence[Any]) -> Sequence[Any]:
        """The kinds of resources that ``backward`` gets."""
        return []

    def create_operator(self, ctx: Context) -> Any:
        """A new :class:`Operator` for a device; which class that is may depend on it, and on the
        attributes."""
        raise NotImplementedError(f"{type(self).__name__} does not define create_operator")

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """The numbers of the arrays that ``backward`` reads; by default all."""
        return [*out_grad, *in_data, *out_data]

    def forward_inplace_option(
        self, in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Pairs of an input and an output that may share memory in ``forward``."""
        return []

    def backward_inplace_option(
        self,
        out_grad: Sequence[int],
        in_data: Sequence[int],
        out_data: Sequence[int],
        in_grad: Sequence[int],
    ) -> list[tuple[int, int]]:
        """Pairs of an array that ``backward`` reads and a gradient that may share memory."""
        return []


class PropertyCard(OwnOperator):
    """The card of an operator whose property is of a user's class."""

    property_class: ClassVar[type[OperatorProperty]]

    def new_property(self) -> Any:
        """One with the attributes that were given."""
        return self.property_class(**self.given)

    def show_shape(self, shape: Any) -> Any:
        """As the cards have it."""
        return shape

    def show_type(self, dtype: str | None) -> Any:
        """As the cards have it."""
        return dtype

    def resources(self, made: Any, context: Context, shapes: Sequence[Shape], back: bool) -> Any:
        """Those of the kinds that the property asks for."""
        method = "backward_resource" if back else "forward_resource"
        kinds = self.ask(made, method, shapes)
        kinds = self.members_of(method, "a list of kinds of resources", kinds)
        try:
            return [resource.request(context, kind) for kind in kinds]
        except (MXNetError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{self.label}: {method}: {error}") from error

    def create(self, made: Any, context: Context, arguments: Sequence[Desc], aux: Any) -> Any:
        """The user's operator."""
        operator = self.ask(made, "create_operator", context)
        needed = ("forward", "backward") if self.differentiable else ("forward",)
        return self.require_operator(operator, *needed)

    def run_forward(self, operator: Any, run: Run) -> None:
        """``Operator.forward``."""
        context = OpContext(run.is_train, RunContext(run.context), list(run.requested))
        operator.forward(context, run.in_data, run.req, run.out_data, run.aux)

    def run_backward(self, operator: Any, run: Run) -> None:
        """``Operator.backward``."""
        context = OpContext(run.is_train, RunContext(run.context), list(run.requested))
        arrays = (run.out_grad, run.in_data, run.out_data, run.req, run.in_grad, run.aux)
        operator.backward(context, *arrays)


def card_of(cls: type[OperatorProperty]) -> type[PropertyCard]:
    """The card of a class of properties."""
    base = card.OperatorProperty
    named = (
        cls.list_arguments is base.list_arguments
        and cls.list_auxiliary_states is base.list_auxiliary_states
    )
    copied = ("name", "aliases", "params", "variadic", "differentiable", "count_inputs")
    own = {key: getattr(cls, key) for key in (*copied, "dtypes", "argument_dtypes")}
    if cls.variadic is not None and cls.params[cls.variadic].high is None:
        count = replace(cls.params[cls.variadic], high=MOST)  # a hostile file could say more
        own["params"] = {**cls.params, cls.variadic: count}
    if named and cls.variadic is None:
        own |= {"arguments": cls.arguments, "auxiliary_states": cls.auxiliary_states}
    own |= {
        "property_class": cls,
        "open_inputs": not named,
        "initializers": cls.initializers,
        "__doc__": cls.__doc__,
        # A class that was made where no module has a name has none.
        "__module__": getattr(cls, "__module__", "__main__"),
    }
    return type(cls.__name__, (PropertyCard,), own)
