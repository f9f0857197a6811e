"""``mx.sym._internal``: the functions of the operators that begin with an underscore."""

from __future__ import annotations

from ..ops.namespaces import serve
from .functions import member

__getattr__, __dir__ = serve(__name__, member)
