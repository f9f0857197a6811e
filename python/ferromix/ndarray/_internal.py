"""``mx.nd._internal``: the functions of the operators that begin with an underscore."""

from __future__ import annotations

from ..ops.namespaces import serve
from .elements import _copyto as _copyto
from .elements import _onehot_encode as _onehot_encode
from .elements import _set_value as _set_value
from .function import member

__getattr__, __dir__ = serve(__name__, member)
