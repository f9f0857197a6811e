"""From graphs to ONNX: a table of translations by operator, and the walk that applies them."""

from __future__ import annotations

from . import (
    attention,
    elementwise,
    images,
    layers,
    normalization,
    recurrent,
    reducing,
    shaping,
    sources,
)
from .export import export_model, get_operator_support
from .site import TABLE

__all__ = [
    "TABLE",
    "attention",
    "elementwise",
    "export_model",
    "get_operator_support",
    "images",
    "layers",
    "normalization",
    "recurrent",
    "reducing",
    "shaping",
    "sources",
]
