"""The functions of ``mx.onnx`` where MXNet 1.x has had them first."""

from __future__ import annotations

from ..onnx import export_model, get_model_metadata, import_model

__all__ = ["export_model", "get_model_metadata", "import_model"]
