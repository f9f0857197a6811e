"""``mx.nd.contrib``: the functions of the operators whose names begin with ``_contrib_``,
loops and branches, steps of optimizers, checks of elements, and classes drawn by Zipf's law.
"""

from __future__ import annotations

from ..context import current_context
from ..ops.namespaces import serve
from .control_flow import cond, foreach, while_loop
from .finite import isfinite, isinf, isnan
from .function import member
from .random import rand_zipfian
from .steps import (
    adamw_update,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
)

__all__ = [
    "adamw_update",
    "cond",
    "current_context",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
    "while_loop",
]

__getattr__, __dir__ = serve(__name__, member)
