"""All cases."""

import importlib
import pkgutil

from . import cases as _cases

MODULES = [
    importlib.import_module(f"{_cases.__name__}.{m.name}")
    for m in pkgutil.iter_modules(_cases.__path__)
]
CASES = [case for module in MODULES for case in module.CASES]
