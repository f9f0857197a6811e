"""Operators of one's own, in Python or compiled; see docs/custom-operators.md.

By name, as MXNet's (``CustomOp``); as cards, like the built-in ones (``OperatorProperty``); as
functions with their gradients (``SimpleOp``).
"""

from .. import context, symbol
from ..ops.param import Param
from .compiled import CompiledOp, ScalarFunction, address_of
from .custom import CustomOp, CustomOpProp, assign
from .legacy import NDArrayOp, NumpyOp, PythonOp
from .property import OpContext, Operator, OperatorProperty, RunContext
from .registry import (
    OperatorArguments,
    get_all_registered_operators,
    get_operator_arguments,
    register,
)
from .simple import SimpleOp
from .simple_property import EnvArguments
from .views import numpy_view

__all__ = [
    "CompiledOp",
    "CustomOp",
    "CustomOpProp",
    "EnvArguments",
    "NDArrayOp",
    "NumpyOp",
    "OpContext",
    "Operator",
    "OperatorArguments",
    "OperatorProperty",
    "Param",
    "PythonOp",
    "RunContext",
    "ScalarFunction",
    "SimpleOp",
    "address_of",
    "assign",
    "context",
    "get_all_registered_operators",
    "get_operator_arguments",
    "numpy_view",
    "register",
    "symbol",
]
