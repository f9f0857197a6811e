"""``mx.nd.image``: the functions of the operators whose names begin with ``_image_``."""

from __future__ import annotations

from typing import Any

from ..ops.card import image_names
from .function import function


def __getattr__(name: str) -> Any:
    if name not in image_names():
        raise AttributeError(f"module 'ferromix.ndarray.image' has no attribute {name!r}")
    made = function(f"_image_{name}")
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return image_names()
