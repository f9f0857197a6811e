"""``mx.nd.contrib``: the functions of the operators whose names begin with ``_contrib_``,
and steps of optimizers.
"""

from __future__ import annotations

from ..ops.namespaces import serve
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
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]

__getattr__, __dir__ = serve(__name__, member)
