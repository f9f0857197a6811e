"""Gradients in fewer bits, for stores that send them; what is lost goes into the next one.

``2bit`` sends of each element whether it is at least the threshold, at most its negative, or
neither, as the threshold, its negative or zero (Strom, "Scalable distributed DNN training using
commodity GPU cloud computing", 2015); ``1bit`` only whether it is above the threshold, as 1 or -1
(Seide et al., "1-bit stochastic gradient descent", 2014). The rest of each element is kept, and
added to the next gradient. ``fp16`` rounds to half precision, and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError

__all__ = ["GradientCompression"]

TYPES = ("2bit", "1bit", "fp16")
_SHIFTS = np.array([6, 4, 2, 0], np.uint8)


class GradientCompression:
    """A way to send gradients in fewer bits.

    Parameters
    ----------
    params
        ``type``, one of ``"2bit"``, ``"1bit"`` and ``"fp16"``, and ``threshold``, a number above 0,
        0.5 unless given.

    Raises
    ------
    InvalidArgumentError
        For an unknown type, or a threshold that makes no sense.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping):
            raise ArgumentTypeError(
                f"set_gradient_compression: expected a dict, got {type(params).__name__}"
            )
        self.type = params.get("type")
        if self.type not in TYPES:
            raise InvalidArgumentError(
                f"set_gradient_compression: type must be one of {', '.join(TYPES)}, "
                f"got {self.type!r}"
            )
        text = params.get("threshold", 0.5)
        try:
            self.threshold = float(text)
        except (TypeError, ValueError):
            self.threshold = float("nan")
        if not 0 < self.threshold < float("inf"):
            raise InvalidArgumentError(
                f"set_gradient_compression: threshold must be a number above 0, got {text!r}"
            )

    @property
    def facts(self) -> tuple[str, float]:
        """What must be the same in every process."""
        return str(self.type), self.threshold

    def packed_size(self, count: int) -> int:
        """Bytes of `count` elements."""
        return {"2bit": -(-count // 4), "1bit": -(-count // 8), "fp16": 2 * count}[str(self.type)]

    def pack(self, gradient: np.ndarray, residual: np.ndarray, packed: np.ndarray) -> None:
        """Writes a gradient in few bits.

        Parameters
        ----------
        gradient
            float32 elements.
        residual
            As many, with what is left of earlier gradients; changed to what is left of this one.
        packed
            :meth:`packed_size` bytes to overwrite.
        """
        if self.type == "fp16":
            with np.errstate(over="ignore"):  # to infinity, as casts do
                packed.view(np.float16)[...] = gradient
            return
        residual += gradient
        if self.type == "1bit":
            above = residual > self.threshold
            residual -= np.where(above, np.float32(1), np.float32(-1))
            packed[...] = np.packbits(above)
            return
        high, low = residual >= self.threshold, residual <= -self.threshold
        residual -= np.float32(self.threshold) * (high.view(np.int8) - low.view(np.int8))
        codes = np.zeros(packed.size * 4, np.uint8)
        codes[: gradient.size] = high * np.uint8(3) + low * np.uint8(2)
        packed[...] = np.bitwise_or.reduce(codes.reshape(-1, 4) << _SHIFTS, axis=1)

    def add_unpacked(self, packed: np.ndarray, total: np.ndarray) -> None:
        """Adds what :meth:`pack` wrote to as many float32 elements."""
        if self.type == "fp16":
            total += packed.view(np.float16)
        elif self.type == "1bit":
            bits = np.unpackbits(packed, count=total.size)
            total += np.where(bits, np.float32(1), np.float32(-1))
        else:
            codes = (packed[:, None] >> _SHIFTS & 3).reshape(-1)[: total.size]
            values = np.array([0, 0, -self.threshold, self.threshold], np.float32)
            total += values[codes]
