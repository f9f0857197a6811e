"""Where MXNet has names that are in other modules here, for scripts that import them from there."""

from __future__ import annotations

from .. import _core
from ..context import current_context
from ..foreign import ctypes2buffer
from ..runtime import Features
from ..util import is_np_array
from . import arithmetic, creation, dlpack, elements, keys, ndarray, serialize

__all__ = ["install"]

_OTHERS = {
    "Features": Features,
    "NDArrayBase": _core.Dense,
    "ctypes2buffer": ctypes2buffer,
    "current_context": current_context,
    "is_np_array": is_np_array,
}
_HOMES = (arithmetic, creation, dlpack, elements, keys, serialize)


def install() -> None:
    """Puts what makes and combines arrays into ``mx.nd.ndarray``, too."""
    for home in _HOMES:
        for name in home.__all__:
            setattr(ndarray, name, getattr(home, name))
    for name, value in _OTHERS.items():
        setattr(ndarray, name, value)
