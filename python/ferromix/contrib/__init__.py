"""Where MXNet has parts that came later; here what users import from there: ``contrib.onnx``."""

from __future__ import annotations

from . import onnx

__all__ = ["onnx"]
