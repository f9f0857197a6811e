"""``mx.nd.contrib``: the functions of the operators whose names begin with ``_contrib_``,
steps of optimizers, and checks of elements.
"""

from __future__ import annotations

from ..context import current_context
from ..ops.namespaces import serve
from .finite import isfinite, isinf, isnan
from .function import member
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
    "current_context",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]

__getattr__, __dir__ = serve(__name__, member)
