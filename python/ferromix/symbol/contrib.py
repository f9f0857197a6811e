"""``mx.sym.contrib``: the functions of the operators whose names begin with ``_contrib_``,
and steps of optimizers.
"""

from __future__ import annotations

from ..attribute import AttrScope
from ..ops.namespaces import serve
from .functions import member
from .steps import (
    adamw_update,
    mp_adamw_update,
)
from .symbol import Symbol

__all__ = [
    "AttrScope",
    "Symbol",
    "adamw_update",
    "mp_adamw_update",
]

__getattr__, __dir__ = serve(__name__, member)
