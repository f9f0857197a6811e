"""What compiles for GPUs, and knows the vendor's libraries; and the one that needs no GPU."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ..error import FileFormatError, InvalidArgumentError
from .recipe import Limits

__all__ = ["Host", "Toolkit", "rounds"]


def rounds() -> bool:
    """Whether float32 may be rounded to tf32, for tensor cores: MXNet's switch."""
    return os.environ.get("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION", "0") not in ("", "0")


class Toolkit(Protocol):
    """What compiles for the GPUs of a driver."""

    driver: str
    """The path, or the name, of the driver's library."""

    def function(self, stem: str, entry: str, number: int) -> int:
        """The address of a kernel of the CUDA sources, on the GPU of a number."""
        ...

    def fused(self, text: str, entry: str, number: int) -> int:
        """The address of a kernel of a text that was generated."""
        ...

    def compiled(
        self, text: str, options: tuple[str, ...], exports: tuple[str, ...], entry: str, number: int
    ) -> int:
        """The address of a kernel of a user's text."""
        ...

    def limits(self, number: int) -> Limits:
        """How many threads pay on the GPU of a number."""
        ...

    def blas(self) -> str | None:
        """The path, or the name, of a library of matrix products."""
        ...

    def convolutions(self) -> str | None:
        """The path, or the name, of a library of convolutions."""
        ...

    def collectives(self) -> str | None:
        """The path, or the name, of a library of sums among devices."""
        ...


class Host:
    """The stand-in."""

    def __init__(self) -> None:
        from . import host_driver

        self._tools = host_driver
        self.driver = str(host_driver.library())
        library = ctypes.CDLL(self.driver)
        self._find: Callable[[bytes, bytes], int | None] = library.fm_host_function
        library.fm_host_function.restype = ctypes.c_void_p

    def function(self, stem: str, entry: str, number: int) -> int:
        """As in :class:`Toolkit`."""
        return self._function(self._tools.kernel_library(stem), entry)

    def fused(self, text: str, entry: str, number: int) -> int:
        """As in :class:`Toolkit`."""
        return self._function(self._tools.text_library(text), entry)

    def compiled(
        self, text: str, options: tuple[str, ...], exports: tuple[str, ...], entry: str, number: int
    ) -> int:
        """As in :class:`Toolkit`."""
        try:
            library = self._tools.text_library(text)
        except FileFormatError as error:
            raise InvalidArgumentError(f"{entry} does not compile:\n{error}") from error
        return self._function(library, entry)

    def _function(self, path: Path, entry: str) -> int:
        found = self._find(str(path).encode(), entry.encode())
        if not found:
            raise InvalidArgumentError(f"the text has no kernel '{entry}'")
        return found

    def limits(self, number: int) -> Limits:
        """As in :class:`Toolkit`: each thread costs, so that few do as much as they can."""
        return Limits(processors=1, threads=32, tf32=rounds())

    def blas(self) -> str | None:
        """As in :class:`Toolkit`."""
        return self.driver

    def convolutions(self) -> str | None:
        """As in :class:`Toolkit`."""
        return self.driver

    def collectives(self) -> str | None:
        """As in :class:`Toolkit`."""
        return self.driver
