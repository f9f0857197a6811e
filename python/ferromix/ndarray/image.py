"""``mx.nd.image``: the functions of the operators whose names begin with ``_image_``."""

from __future__ import annotations

from ..ops.namespaces import serve
from .function import member

__getattr__, __dir__ = serve(__name__, member)
