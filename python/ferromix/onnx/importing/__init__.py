"""From ONNX to graphs: a table of translations by operator, and the walk that applies them."""

from __future__ import annotations

from . import (
    arithmetic,
    convolutions,
    moving,
    normalizing,
    products,
    recurrent,
    reducing,
    sampling,
)
from .graph import get_model_metadata, import_model
from .use import TABLE

__all__ = [
    "TABLE",
    "arithmetic",
    "convolutions",
    "get_model_metadata",
    "import_model",
    "moving",
    "normalizing",
    "products",
    "recurrent",
    "reducing",
    "sampling",
]
