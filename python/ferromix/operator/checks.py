"""What is refused of an operator of one's own before it is entered."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray, symbol
from ..error import InvalidArgumentError
from ..literal import brief
from ..ops import card
from ..ops.param import DTYPES, Param

__all__ = ["names_of", "require_attributes", "require_card", "require_name"]

_RESERVED = ("attr", "ctx", "name", "out", "self")
"""Keywords of every function of ``mx.nd`` or ``mx.sym``."""


def require_name(where: str, name: Any) -> None:
    """Checks that a name can be that of functions in ``mx.nd`` and ``mx.sym``.

    Raises
    ------
    InvalidArgumentError
        Something that is no identifier, or what another function or class there is called.
    """
    if not _is_name(name):
        raise InvalidArgumentError(f"{where} needs a name that is an identifier, got {brief(name)}")
    # The registry itself refuses the name of an operator.
    if not card.exists(name) and (name in vars(ndarray) or name in vars(symbol)):
        raise InvalidArgumentError(
            f"{where}: the name '{name}' is taken in mx.nd or mx.sym; take another one"
        )


def require_card(cls: Any) -> None:
    """Checks what a class says of its operator.

    Raises
    ------
    InvalidArgumentError
        Names of arguments or states that are no list of different identifiers, attributes that are
        no ``Param``s or have names that no call could use, or unknown element types.
    """
    where = f"register: {cls.__name__}"
    for name in (cls.name, *names_of(where, "aliases", cls.aliases)):
        require_name(where, name)
    inputs = [
        *names_of(where, "arguments", cls.arguments),
        *names_of(where, "auxiliary_states", cls.auxiliary_states),
    ]
    if len(set(inputs)) != len(inputs):
        raise InvalidArgumentError(f"{where}: arguments and states need names that differ")
    require_attributes(where, "params", cls.params, inputs)
    own = cls.argument_dtypes
    if not isinstance(own, Mapping):
        raise InvalidArgumentError(
            f"{where}: argument_dtypes must be a dict of element types by argument, got "
            f"{brief(own)}"
        )
    for what, dtypes in [("dtypes", cls.dtypes), *(("argument_dtypes", d) for d in own.values())]:
        for dtype in names_of(where, what, dtypes):
            if dtype not in DTYPES:
                raise InvalidArgumentError(
                    f"{where}: unknown element type '{dtype}' in {what}; known: {', '.join(DTYPES)}"
                )


def require_attributes(where: str, what: str, params: Any, inputs: Sequence[str]) -> None:
    """Checks the attributes of an operator with these inputs.

    Raises
    ------
    InvalidArgumentError
        Something else than Params by name, or names that no call could give them by.
    """
    if not isinstance(params, Mapping) or not all(isinstance(p, Param) for p in params.values()):
        raise InvalidArgumentError(
            f"{where}: {what} must be a dict of Params by name, got {brief(params)}"
        )
    for name in params:
        if name in inputs:
            raise InvalidArgumentError(
                f"{where}: attribute '{name}' has the name of an input; take another one"
            )
        # An operator without inputs may say where it runs.
        reserved = [n for n in _RESERVED if inputs or n != "ctx"]
        if not _is_name(name) or name in reserved:
            raise InvalidArgumentError(
                f"{where}: the name of an attribute must be an identifier, and none of "
                f"{', '.join(reserved)}, which mean something else in a call, got {brief(name)}"
            )


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def names_of(where: str, what: str, found: Any, least: int = 0) -> Sequence[str]:
    """A list of names that differ, at least so many.

    Raises
    ------
    InvalidArgumentError
        For anything else.
    """
    if not isinstance(found, (list, tuple)) or not all(_is_name(n) for n in found):
        raise InvalidArgumentError(f"{where}: {what} must be a list of names, got {brief(found)}")
    if len(set(found)) != len(found) or len(found) < least:
        raise InvalidArgumentError(
            f"{where}: {what} need names that differ, at least {least}, got {brief(found)}"
        )
    return found
