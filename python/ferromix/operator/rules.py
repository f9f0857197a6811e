"""Operators that a rule makes of others, so that no Python runs in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..error import InvalidArgumentError
from ..literal import brief
from ..ops.composed import Composed
from ..ops.param import DTYPES
from ..ops.term import Term

if TYPE_CHECKING:
    from .simple import SimpleOp

__all__ = ["rule_card"]


def _by_rule(simple: SimpleOp, terms: Sequence[Term], env: Any) -> Term:
    """What the rule of an operator returns.

    Raises
    ------
    InvalidArgumentError
        A rule that raises, or returns anything but one of its values.
    """
    assert simple.rule is not None
    hint = (
        "a rule is for the values that it is given and numbers, their arithmetic, and "
        "value.op(name, *other_values, **attributes)"
    )
    try:
        found = simple.rule(*terms, env)
    except Exception as error:
        raise InvalidArgumentError(
            f"SimpleOp {simple.name}: its rule raised {type(error).__name__}: {error}; {hint}"
        ) from error
    if not isinstance(found, Term) or found.graph is not terms[0].graph:
        raise InvalidArgumentError(
            f"SimpleOp {simple.name}: its rule must return a value made of those it is given, "
            f"returned {brief(found)}; {hint}"
        )
    return found


def rule_card(simple: SimpleOp, env: Callable[[Any], Any]) -> type[Composed]:
    """The card of a simple operator that a rule makes of others; `env` gives its last argument."""

    def forward(self: Any, *terms: Any) -> Any:
        return _by_rule(simple, terms, env(self))

    fields = {
        "name": simple.name,
        "arguments": simple.arguments,
        "params": simple.params(),
        "dtypes": DTYPES,
        "forward": forward,
        "__doc__": simple.description,
    }
    return type(simple.name, (Composed,), fields)
