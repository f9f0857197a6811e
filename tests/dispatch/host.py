"""Runs entry points of the CUDA sources on the host, compiled as C++: values without a GPU."""

from __future__ import annotations

import ctypes
import re
import subprocess
from itertools import chain, product
from pathlib import Path

import numpy as np

from ferromix.dispatch.source import source

MAX_RANK = 8
BLOCKS, THREADS = 2, 3


def build(stem: str, compiler: str, folder: Path) -> ctypes.CDLL:
    text = re.sub(r'asm\("cvt\.f32\.f16 .*\);', "y = host_from_half(x.bits);", source(stem))
    text = re.sub(r'asm\("cvt\.rn\.f16\.f\d\d .*\);', "y.bits = host_to_half(x);", text)
    assert "cvt." not in text
    file, library = folder / f"{stem}.cpp", folder / f"{stem}.so"
    file.write_text(f'#include "{Path(__file__).with_name("host.h")}"\n{text}')
    flags = ["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, file], check=True, timeout=120)
    return ctypes.CDLL(str(library))


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
    library: ctypes.CDLL,
    entry: str,
    inputs: list[np.ndarray],
    out: np.ndarray,
    numbers: list[float],
    req: int,
    strided: bool,
) -> None:
    """Runs all threads of a small grid, one after the other."""
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs, out)]
    given = [*pointers, *map(ctypes.c_double, numbers), walk(out, inputs, strided), req]
    run = getattr(library, entry)
    run.restype = None
    for block, thread in product(range(BLOCKS), range(THREADS)):
        library.place(block, thread, BLOCKS, THREADS)
        run(*given)
