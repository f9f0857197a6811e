"""Ferromix, torch and CuPy behind one face: arrays on the GPU, and the wait for all work.

torch and CuPy are left out where they are not installed or see no GPU, and where a C++ compiler
stands in for one.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HOST = os.environ.get("FERROMIX_GPU_DRIVER") == "host"


@dataclass(frozen=True)
class Package:
    """A package on its first GPU."""

    name: str
    module: Any
    version: str
    array: Callable[[np.ndarray], Any]
    wait: Callable[[], Any]


def packages() -> dict[str, Package]:
    """What there is, Ferromix first."""
    made = (_ferromix, *(() if HOST else (_torch, _cupy)))
    return {package.name: package for make in made if (package := make()) is not None}


def _ferromix() -> Package:
    import ferromix as mx

    if not mx.num_gpus():
        raise SystemExit("there is no GPU; FERROMIX_GPU_DRIVER=host tries this without one")

    def array(values: np.ndarray) -> Any:
        return mx.nd.array(values, ctx=mx.gpu(0), dtype=values.dtype)

    return Package("ferromix", mx, mx.libinfo.ferromix_version, array, mx.nd.waitall)


def _torch() -> Package | None:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    # As Ferromix does: float32 is float32, with 24 bits, in convolutions too.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True

    def array(values: np.ndarray) -> Any:
        return torch.from_numpy(values).to("cuda")

    return Package("torch", torch, torch.__version__, array, torch.cuda.synchronize)


def _cupy() -> Package | None:
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:  # there is no driver
        return None
    if not count:
        return None
    return Package("cupy", cupy, cupy.__version__, cupy.asarray, cupy.cuda.Device(0).synchronize)
