"""Which operators stand in which namespace of ``mx.nd`` and ``mx.sym``: the prefixes of names say.

As in MXNet, ``_contrib_quadratic`` is ``contrib.quadratic``; ``op`` has the operators without an
underscore, and ``_internal`` all others. A new card is in its namespaces by its names alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .card import names

__all__ = ["PREFIXES", "members", "serve"]

PREFIXES = {
    "contrib": "_contrib_",
    "image": "_image_",
    "linalg": "_linalg_",
    "random": "_random_",
    "sparse": "_sparse_",
}
"""The prefix of the names in each namespace."""

Make = Callable[[str, str, str], Any]


def members(namespace: str) -> dict[str, str]:
    """The operators of a namespace: what each is called there, and its registered name.

    ``random`` has those alone that are like an array; its others are functions of their own.
    """
    found = names()
    if namespace == "op":
        return {name: name for name in found if not name.startswith("_")}
    if namespace == "_internal":
        return {name: name for name in found if name.startswith("_")}
    prefix, suffix = PREFIXES[namespace], "_like" if namespace == "random" else ""
    found = [name for name in found if name.startswith(prefix) and name.endswith(suffix)]
    return {name.removeprefix(prefix): name for name in found}


def serve(module: str, make: Make) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of the module that is a namespace of its last name.

    What the module has itself comes before the operators. ``make(name, called, module)`` makes the
    function of the operator `name`.
    """
    namespace = module.rpartition(".")[2]

    def get(called: str) -> Any:
        name = members(namespace).get(called)
        if name is None:
            raise AttributeError(f"module '{module}' has no operator or attribute '{called}'")
        made = make(name, called, module)
        setattr(sys.modules[module], called, made)
        return made

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *members(namespace)})

    return get, listed
