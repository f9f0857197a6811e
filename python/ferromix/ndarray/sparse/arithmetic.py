"""Arithmetic of ``mx.nd.sparse``; the operators of Python mean the same."""

from __future__ import annotations

from typing import Any

from ..arithmetic import add as _add
from ..arithmetic import divide as _divide
from ..arithmetic import multiply as _multiply
from ..arithmetic import subtract as _subtract

__all__ = ["add", "divide", "multiply", "subtract"]


def add(lhs: Any, rhs: Any) -> Any:
    """`lhs + rhs`, element by element; sparse for two arrays of one sparse storage type.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.array([[0, 1]]).tostype("csr")
    >>> mx.nd.sparse.add(a, a).stype
    'csr'
    """
    return _add(lhs, rhs)


def subtract(lhs: Any, rhs: Any) -> Any:
    """`lhs - rhs`, element by element; sparse for two arrays of one sparse storage type."""
    return _subtract(lhs, rhs)


def multiply(lhs: Any, rhs: Any) -> Any:
    """`lhs * rhs`, element by element; sparse where an operand is, unless they are unlike."""
    return _multiply(lhs, rhs)


def divide(lhs: Any, rhs: Any) -> Any:
    """`lhs / rhs`, element by element; csr where `lhs` is, and `rhs` is dense or a number."""
    return _divide(lhs, rhs)
