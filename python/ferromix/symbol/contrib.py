"""``mx.sym.contrib``: the functions of the operators whose names begin with ``_contrib_``,
loops and branches, steps of optimizers, and classes drawn by Zipf's law.
"""

from __future__ import annotations

from ..attribute import AttrScope
from ..ops.namespaces import serve
from .control_flow import cond, foreach, while_loop
from .functions import member
from .random import rand_zipfian, uniform
from .steps import (
    adamw_update,
    mp_adamw_update,
)
from .symbol import Symbol

__all__ = [
    "AttrScope",
    "Symbol",
    "adamw_update",
    "cond",
    "foreach",
    "mp_adamw_update",
    "rand_zipfian",
    "uniform",
    "while_loop",
]

__getattr__, __dir__ = serve(__name__, member)
