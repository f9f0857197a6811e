"""The ``onnx`` package, an extra of ours, which is imported when it is needed first."""

from __future__ import annotations

from typing import Any

from ..error import MXNetError

__all__ = ["onnx_package"]


def onnx_package() -> Any:
    """The package with its helpers.

    Raises
    ------
    MXNetError
        Where it is not installed; says what to install.
    """
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
        import onnx.reference
    except ImportError as error:
        raise MXNetError(
            f'mx.onnx needs the onnx package ({error}); pip install "ferromix[onnx]" brings it'
        ) from error
    return onnx
