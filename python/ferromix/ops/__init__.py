"""The operators: one card each, in families whose files have the stems of the kernels' files.

A family is found by its file: importing this package imports every module in it.
"""

import importlib
import pkgutil

from .card import OperatorProperty, exists, find, make, names, register
from .param import Param
from .sparse_names import enter

__all__ = ["OperatorProperty", "Param", "exists", "find", "make", "names", "register"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

enter()
