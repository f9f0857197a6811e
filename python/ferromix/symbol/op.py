"""``mx.sym.op``: the functions of the operators whose names begin with no underscore."""

from __future__ import annotations

from ..ops.namespaces import serve
from .functions import member

__getattr__, __dir__ = serve(__name__, member)
