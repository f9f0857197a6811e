"""``mx.sym.sparse``: the functions of the operators that know sparse arrays.

They are those of ``mx.sym``: which storage types flow through a graph is decided when it is bound.
"""

from __future__ import annotations

from ..ops.namespaces import serve
from .functions import member

__getattr__, __dir__ = serve(__name__, member)
