"""Runs entry points of the CUDA sources on the host, compiled as C++: values without a GPU."""

from __future__ import annotations

import ctypes
import re
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ferromix.dispatch import host_driver
from ferromix.dispatch.host_driver import COMPILER

NEEDS_COMPILER = pytest.mark.skipif(COMPILER is None, reason="needs g++ or clang++")
MAX_RANK = 8
BLOCKS, THREADS = 2, 3


class Kernels:
    """The entry points of a library of kernels.

    Parameters
    ----------
    path
        As :mod:`ferromix.dispatch.host_driver` builds it.
    """

    def __init__(self, path: Path) -> None:
        names = re.findall(rb"\0host_sizes_(\w+)(?=\0)", path.read_bytes())
        self.entries = sorted({name.decode() for name in names})
        self._library = ctypes.CDLL(str(path))
        self._library.fm_host_launch.restype = ctypes.c_char_p

    def launch(
        self, entry: str, grid: tuple[int, ...], block: tuple[int, ...], *args: Any, seed: int = 0
    ) -> None:
        """Runs a kernel; an error where threads wait for each other in vain.

        `args` are values of ctypes, or arrays, of which the kernel gets the address.
        """
        values = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in args]
        given = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        sizes = [(ctypes.c_uint * 3)(*n, *[1] * (3 - len(n))) for n in (grid, block)]
        run = ctypes.cast(getattr(self._library, f"host_{entry}"), ctypes.c_void_p)
        error = self._library.fm_host_launch(run, given, *sizes, ctypes.c_uint(seed))
        if error:
            raise RuntimeError(f"{entry}: {error.decode()}")


def build(stem: str) -> Kernels:
    """The kernels of a CUDA source; each is compiled once for all tests, by whoever asks first."""
    return Kernels(host_driver.kernel_library(stem))


def walk(out: np.ndarray, inputs: list[np.ndarray], strided: bool) -> ctypes.Structure:
    """The operands' layout; by strides even where memory has no gaps, if `strided`."""
    operands = [out, *inputs]
    flat = sum(1 << j for j, x in enumerate(operands) if x.shape == out.shape)
    single = sum(1 << j for j, x in enumerate(operands) if x.size == 1 and out.size != 1)
    fields = [out.size, 0, flat, single]
    shape, strides = [0] * MAX_RANK, [[0] * MAX_RANK for _ in operands]
    if strided or flat | single != (1 << len(operands)) - 1:
        fields = [out.size, out.ndim, 0, 0]
        shape[: out.ndim] = out.shape
        for row, x in zip(strides, operands, strict=True):
            spread = np.broadcast_to(x, out.shape)
            row[: out.ndim] = [s // x.itemsize for s in spread.strides]
    words = [*fields, *shape, *chain(*strides)]
    kind = type("Walk", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_int64 * len(words))]})
    return kind((ctypes.c_int64 * len(words))(*words))


def launch(
    kernels: Kernels,
    entry: str,
    inputs: list[np.ndarray],
    out: np.ndarray,
    numbers: list[float],
    req: int,
    strided: bool,
) -> None:
    """Runs an elementwise kernel on a small grid."""
    given = [*inputs, out, *map(ctypes.c_double, numbers), walk(out, inputs, strided)]
    kernels.launch(entry, (BLOCKS,), (THREADS,), *given, ctypes.c_int(req))
