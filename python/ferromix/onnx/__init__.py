"""Networks as ONNX models, and ONNX models as networks: ``mx.onnx``.

The ``onnx`` package reads and writes the files; it is an extra (``pip install "ferromix[onnx]"``)
and is imported when it is needed first.
"""

from __future__ import annotations

from .exporting import export_model, get_operator_support
from .importing import get_model_metadata, import_model

__all__ = ["export_model", "get_model_metadata", "get_operator_support", "import_model"]
