"""All cases, found by their files; edges for one operator of each kind (see :mod:`.kinds`)."""

import importlib
import pkgutil

from . import cases as _cases
from .kinds import first_of_each

MODULES = [
    importlib.import_module(f"{_cases.__name__}.{m.name}")
    for m in pkgutil.iter_modules(_cases.__path__)
]
_ALL = [case for module in MODULES for case in module.CASES]
FIRST = first_of_each(_ALL)
"""The operators that try what others of their kind share."""
CASES = [case for case in _ALL if not case.edge or case.card.name in FIRST]
EDGES = [case for case in CASES if case.card.name in FIRST]
"""The cases of those operators."""
ONE_EACH = list({c.card.name: c for c in reversed(EDGES)}.values())[::-1]
"""One case of each of those operators."""
REFUSED = [row for module in MODULES for row in getattr(module, "REFUSED", ())]
