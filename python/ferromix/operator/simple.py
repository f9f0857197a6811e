"""Operators of one function and its gradient, of one or two inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from ..error import ArgumentTypeError, InvalidArgumentError
from ..literal import brief
from ..ops import card
from ..ops.param import Param
from ..resource import kind_of
from .checks import require_attributes, require_name
from .compiled import ScalarFunction, mapped_card
from .property import card_of
from .rules import rule_card
from .simple_property import environment, property_of

__all__ = ["SimpleOp"]

KINDS = ("T0", "T1", "T2")
_MXNET = {
    "kNoInplace": "none",
    "kInplaceInOut": "in_out",
    "kInplaceLhsOut": "lhs_out",
    "kInplaceOutIn": "out_in",
    "kInplaceOutLhs": "out_lhs",
}


class SimpleOp:
    """An operator of a function of one array, or of two, and the function's gradient.

    Say what there is to it by the methods, each of which returns the object, and then
    :meth:`register` it; ``mx.nd`` and ``mx.sym`` have it from then on.

    A function is one of these:

    * a Python function of NDArrays and an :class:`EnvArguments`, which returns the result;
    * a :class:`ScalarFunction`, compiled, for each element;
    * for the function itself, but not its gradient, a `rule` over other operators, whose
      derivatives are those of the operators.

    Parameters
    ----------
    name
        What the functions of ``mx.nd`` and ``mx.sym`` are called.
    inputs
        1, an argument ``data``; or 2, ``lhs`` and ``rhs``.

    Examples
    --------
    >>> import ferromix as mx
    >>> op = mx.operator.SimpleOp("my_scaled_square")
    >>> _ = op.set_function(lambda x, env: env.scalar * x * x)
    >>> _ = op.set_gradient("T2", lambda grad, x, env: 2 * env.scalar * x * grad)
    >>> _ = op.set_enable_scalar(True).describe("A square, scaled.").register()
    >>> mx.nd.my_scaled_square(mx.nd.array([1, 2]), scalar=10).asnumpy()
    array([10., 40.], dtype=float32)
    """

    def __init__(self, name: str, inputs: int = 1) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgumentError(f"SimpleOp: a name must be an identifier, got {brief(name)}")
        if inputs not in (1, 2):
            raise InvalidArgumentError(
                f"SimpleOp {name}: inputs must be 1 or 2, got {brief(inputs)}"
            )
        self.name = name
        self.arguments = ("data",) if inputs == 1 else ("lhs", "rhs")
        self.functions: dict[str | None, Any] = {}
        self.gradients: dict[str | None, Any] = {}
        self.kind: str | None = None
        self.rule: Callable[..., Any] | None = None
        self.shape_function: Callable[..., Any] | None = None
        self.enables_scalar = False
        self.keywords: Mapping[str, Param] = {}
        self.resources: list[Any] = []
        self.forward_inplace: list[tuple[int, int]] = []
        self.backward_inplace: list[tuple[int, int]] = []
        self.description = f"The operator {name}."

    def set_function(self, function: Any, device: str | None = None, inplace: str = "none") -> Self:
        """Sets what computes the result.

        Parameters
        ----------
        function
            ``f(data, env)`` or ``f(lhs, rhs, env)``; or a :class:`ScalarFunction` of the elements,
            and then the scalar, if the operator takes one.
        device
            The kind of device that it is for, such as ``"cpu"``; all where None.
        inplace
            ``"none"``, or, where the result may be written over the (first) input, ``"in_out"`` or
            ``"lhs_out"``; MXNet's names of these are taken, too.
        """
        self._require_function("function", function)
        self.functions[device] = function
        self._set_inplace(inplace, "forward", "in_out", "lhs_out")
        return self

    def set_rule(self, rule: Callable[..., Any]) -> Self:
        """Sets a rule over other operators in the place of functions.

        Parameters
        ----------
        rule
            ``f(data, env)`` or ``f(lhs, rhs, env)`` of values that know arithmetic, and
            ``value.op(name, *others, **attrs)`` for any operator; it returns a value.
        """
        if not callable(rule):
            raise ArgumentTypeError(
                f"SimpleOp {self.name}: a rule must be callable, got {brief(rule)}"
            )
        self.rule = rule
        return self

    def set_gradient(
        self, kind: str, function: Any, device: str | None = None, inplace: str = "none"
    ) -> Self:
        """Sets what computes the gradient of the input, or of both, as a pair.

        Parameters
        ----------
        kind
            What it reads: ``"T0"``, ``f(out_grad, env)``; ``"T1"``,
            ``f(out_grad, out_value, env)``; ``"T2"``, ``f(out_grad, data, env)``, or
            ``f(out_grad, lhs, rhs, env)``.
        function
            A Python function; or a :class:`ScalarFunction` of the elements of these, and then the
            scalar, or a pair of them for two inputs.
        device
            As for :meth:`set_function`.
        inplace
            ``"none"``, or, where the gradient of the (first) input may be written over that of the
            result, ``"out_in"`` or ``"out_lhs"``.
        """
        if kind not in KINDS:
            raise InvalidArgumentError(
                f"SimpleOp {self.name}: the kind of a gradient must be one of {', '.join(KINDS)}, "
                f"got {brief(kind)}"
            )
        if self.kind not in (None, kind):
            raise InvalidArgumentError(
                f"SimpleOp {self.name}: the gradient for another device is {self.kind}, got {kind}"
            )
        pair = isinstance(function, (list, tuple)) and len(function) == len(self.arguments)
        for one in function if pair else (function,):
            self._require_function("gradient", one)
        self.kind = kind
        self.gradients[device] = function
        self._set_inplace(inplace, "backward", "out_in", "out_lhs")
        return self

    def set_shape_function(self, function: Callable[..., Any]) -> Self:
        """Sets the shape of the result: ``f(shape, env)``, or ``f(lhs_shape, rhs_shape, env)``.

        Without it all shapes are the same. It is asked once the shapes of the inputs are known.
        """
        self._require_function("shape function", function)
        self.shape_function = function
        return self

    def set_enable_scalar(self, enable: bool = True) -> Self:
        """Says whether the operator takes a number, ``scalar``; not beside keyword arguments."""
        self.enables_scalar = bool(enable)
        return self

    def set_enable_kwargs(self, keywords: Mapping[str, Param]) -> Self:
        """Sets the keyword arguments: for each name a :class:`Param`; not beside a scalar.

        Raises
        ------
        InvalidArgumentError
            Something else, or a name that no call could use.
        """
        require_attributes(f"SimpleOp {self.name}", "keywords", keywords, self.arguments)
        self.keywords = dict(keywords)
        return self

    def set_resource_request(self, *resources: Any) -> Self:
        """Sets the kinds of resources that the functions get as ``env.resource``.

        Raises
        ------
        InvalidArgumentError
            An unknown kind; the message lists those that there are.
        """
        for kind in resources:
            try:
                kind_of(kind)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(
                    f"SimpleOp {self.name}: set_resource_request: {error}"
                ) from None
        self.resources = list(resources)
        return self

    def describe(self, text: str) -> Self:
        """Sets the documentation of the functions."""
        self.description = text
        return self

    def register(self) -> Self:
        """Enters the operator.

        Raises
        ------
        InvalidArgumentError
            A name that is taken; no function, or one beside a rule; a scalar beside keywords.
        """
        require_name("SimpleOp", self.name)
        self._check()
        if self.rule is not None:
            card.register(rule_card(self, environment))
        elif isinstance(self.functions.get(None), ScalarFunction):
            card.register(self._mapped())
        else:
            card.register(card_of(property_of(self)))
        return self

    def params(self) -> dict[str, Param]:
        """The attributes of the operator."""
        if self.enables_scalar:
            return {"scalar": Param("float", doc="The number.")}
        return dict(self.keywords)

    def choose(self, what: str, functions: Mapping[str | None, Any], device: str) -> Any:
        """The function for a kind of device.

        Raises
        ------
        InvalidArgumentError
            There is none for it.
        """
        found = functions.get(device, functions.get(None))
        if found is None:
            known = ", ".join(str(d) for d in functions) or "none"
            raise InvalidArgumentError(
                f"{self.name}: there is no {what} for {device}; there are some for: {known}"
            )
        return found

    def _mapped(self) -> type[card.OperatorProperty]:
        gradient = self.gradients.get(None)
        several = gradient if isinstance(gradient, (list, tuple)) else (gradient,)
        if self.gradients and not all(isinstance(g, ScalarFunction) for g in several):
            raise InvalidArgumentError(
                f"SimpleOp {self.name}: the gradient of a compiled function must be compiled, too; "
                f"got {brief(gradient)}"
            )
        compiled = tuple(g for g in several if isinstance(g, ScalarFunction))
        gradients = compiled if self.gradients else None
        return mapped_card(
            self.name,
            self.arguments,
            self.functions[None],
            gradients,
            self.kind,
            self.params(),
            self.description,
            self.forward_inplace,
            self.backward_inplace,
        )

    def _check(self) -> None:
        where = f"SimpleOp {self.name}"
        if self.enables_scalar and self.keywords:
            raise InvalidArgumentError(f"{where}: takes a scalar or keyword arguments, not both")
        if (self.rule is None) == (not self.functions):
            raise InvalidArgumentError(f"{where}: needs a function, or a rule instead")
        if self.rule is not None and (self.gradients or self.shape_function):
            raise InvalidArgumentError(
                f"{where}: gradient and shapes of a rule are those of its operators"
            )
        compiled = [isinstance(f, ScalarFunction) for f in self.functions.values()]
        if any(compiled) and (self.shape_function or set(self.functions) != {None}):
            raise InvalidArgumentError(
                f"{where}: a compiled function of elements is for every device, and keeps the shape"
            )

    def _require_function(self, what: str, function: Any) -> None:
        if not callable(function) and not isinstance(function, ScalarFunction):
            raise ArgumentTypeError(
                f"SimpleOp {self.name}: a {what} must be callable, got {brief(function)}"
            )

    def _set_inplace(self, option: str, phase: str, *names: str) -> None:
        option = _MXNET.get(option, option)
        allowed = ("none", names[len(self.arguments) - 1])
        if option not in allowed:
            raise InvalidArgumentError(
                f"SimpleOp {self.name}: the in-place option of {phase} with {len(self.arguments)} "
                f"inputs must be one of {', '.join(allowed)}, got {brief(option)}"
            )
        pairs = [(0, 0)] if option != "none" else []
        if phase == "forward":
            self.forward_inplace = pairs
        else:
            self.backward_inplace = pairs
