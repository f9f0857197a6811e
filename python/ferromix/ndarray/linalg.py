"""``mx.nd.linalg``: the functions of the operators whose names begin with ``_linalg_``."""

from __future__ import annotations

from ..ops.namespaces import serve
from .function import member

__getattr__, __dir__ = serve(__name__, member)
