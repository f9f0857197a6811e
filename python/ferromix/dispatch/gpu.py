"""Drivers of GPUs: CUDA's, with CuPy as the compiler, or one that stands in for it on the host.

The core launches kernels, allocates and copies by the functions of a driver library; what is needed
of Python is the library's path, and the address of each kernel. ``FERROMIX_GPU_DRIVER=host`` takes
the stand-in, which needs a C++ compiler and no GPU: for tests, as it is slow. This is the one
module that imports CuPy.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any

from .. import _core
from ..error import DeviceError, InvalidArgumentError
from . import compiler, source
from .recipe import Limits
from .toolkit import Host, Toolkit, rounds

__all__ = [
    "compiled",
    "function",
    "fused",
    "has_collectives",
    "limits",
    "load_gpus",
    "open_gpu",
]

INSTALL = (
    "install Ferromix with the extra for your driver's CUDA: ferromix[cuda12] or ferromix[cuda13]"
)
TENSOR_CORES = 8, 0
"""The compute capability of the first GPUs whose tensor cores take float32."""
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64"),
    "bool",
)


class _Cuda:
    """CUDA's own driver."""

    driver = "libcuda.so.1"

    def function(self, stem: str, entry: str, number: int) -> int:
        """As in :class:`Toolkit`; one type at a time is compiled, and stays on disk."""
        options = *source.OPTIONS, *source.only(entry)
        return self._address(_text(stem), options, None, entry, number)

    def fused(self, text: str, entry: str, number: int) -> int:
        """As in :class:`Toolkit`; it stays on disk."""
        return self._address(text, source.OPTIONS, None, entry, number)

    def compiled(
        self, text: str, options: tuple[str, ...], exports: tuple[str, ...], entry: str, number: int
    ) -> int:
        """As in :class:`Toolkit`; it may include CUDA's headers."""
        return self._address(text, options, exports, entry, number)

    def _address(
        self,
        text: str,
        options: tuple[str, ...],
        exports: tuple[str, ...] | None,
        entry: str,
        number: int,
    ) -> int:
        cupy = _cupy()
        try:
            with cupy.cuda.Device(number):
                module, names = _kernels(text, options, exports, number)
                return module.get_function(names.get(entry, entry)).ptr
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{entry} does not compile:\n{error}") from error
        except (ImportError, OSError, RuntimeError) as error:
            if "CUDA_ERROR_NOT_FOUND" in str(error):
                raise InvalidArgumentError(f"the text has no kernel '{entry}': {error}") from error
            raise DeviceError(f"cannot use gpu({number}): {_told(error)}") from error

    def limits(self, number: int) -> Limits:
        """As in :class:`Toolkit`."""
        _, capability, processors, _ = _core.gpu_properties(number)
        return Limits(processors=processors, tf32=rounds() and capability >= TENSOR_CORES)

    def blas(self) -> str | None:
        """As in :class:`Toolkit`: the cuBLAS that CuPy has loaded."""
        try:
            _cupy().cuda.device.get_cublas_handle()
        except (ImportError, RuntimeError):
            return None
        return _library("libcublas")

    def convolutions(self) -> str | None:
        """As in :class:`Toolkit`: the cuDNN that CuPy's own dependency finds."""
        try:
            return import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cudnn").abs_path
        except (ImportError, RuntimeError):
            return None

    def collectives(self) -> str | None:
        """As in :class:`Toolkit`: the NCCL that CuPy has loaded."""
        try:
            import_module("cupy.cuda.nccl").get_version()
        except (ImportError, AttributeError, RuntimeError):
            return None
        return _library("libnccl")


def _library(name: str) -> str | None:
    """The path of a library that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = [path for path in maps.read().split() if re.search(rf"/{name}\.so", path)]
    return found[0] if found else None


@cache
def _kernels(
    text: str, options: tuple[str, ...], exports: tuple[str, ...] | None, number: int
) -> tuple[Any, dict[str, str]]:
    """A text on a GPU, as CuPy's module, with the names there of what a user's text exports; None
    for one of ours, which needs no headers."""
    cupy, nvrtc = _cupy(), _cupy().cuda.nvrtc
    capability, names = _core.gpu_properties(number)[1], {}
    if exports is None:
        code = compiler.kept(nvrtc, text, options, capability)
    else:
        root = cupy.cuda.get_cuda_path()
        options = *(() if root is None else (f"-I{root}/include",)), *options
        code, names = compiler.compiled(nvrtc, text, options, exports, capability)
    module = cupy.cuda.function.Module()
    module.load(code)
    return module, names


@cache
def _text(stem: str) -> str:
    return source.source(stem)


def _told(error: Exception) -> str:
    """What CuPy says, and what to do about it."""
    said = f"{type(error).__name__}: {error}"
    if "nvrtc" in said:
        return f"CUDA's compiler NVRTC is missing ({said}); {INSTALL}"
    if "InsufficientDriver" in said or "insufficient for CUDA runtime" in said:
        return f"NVIDIA's driver is too old for this CuPy ({said}); update it, or {INSTALL}"
    return f"CuPy says {said}"


@cache
def _cupy() -> Any:
    """CuPy, which finds CUDA's compiler.

    Raises
    ------
    DeviceError
        It is not installed, or does not work.
    """
    try:
        return import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            f"GPUs need CuPy, which cannot be imported ({error}); {INSTALL}"
        ) from error


@cache
def _toolkit() -> Toolkit:
    """The toolkit that the environment asks for.

    Raises
    ------
    InvalidArgumentError
        A driver of another name.
    DeviceError
        No C++ compiler for the stand-in.
    """
    name = os.environ.get("FERROMIX_GPU_DRIVER", "cuda")
    if name == "host":
        return Host()
    if name == "cuda":
        return _Cuda()
    raise InvalidArgumentError(f"FERROMIX_GPU_DRIVER must be 'cuda' or 'host', got {name!r}")


def load_gpus() -> int:
    """Loads the driver; how many GPUs there are, none without a driver.

    Raises
    ------
    InvalidArgumentError, DeviceError
        As the environment asks for what there is not.
    """
    toolkit = _toolkit()
    try:
        return _core.gpu_install(toolkit.driver)
    except DeviceError:
        if isinstance(toolkit, Host):
            raise
        return 0


def open_gpu(number: int) -> None:
    """Makes a GPU ready for arrays: compiles the kernels that copy.

    Raises
    ------
    DeviceError
        No driver, no such GPU, or no compiler; says what to install.
    """
    toolkit = _toolkit()
    try:
        count = _core.gpu_install(toolkit.driver)
    except DeviceError as error:
        raise DeviceError(
            f"cannot use gpu({number}): {error}. It needs a GPU of NVIDIA's with its driver; "
            "without one use cpu()"
        ) from error
    if number >= count:
        there = "there is none" if count == 0 else f"there are {count}, from gpu(0) on"
        raise DeviceError(f"cannot use gpu({number}): {there}")
    rows = [
        (
            *(start, end),
            toolkit.function(
                "elemwise",
                f"elemwise_copy_{start}" if start == end else f"elemwise_Cast_{start}_{end}",
                number,
            ),
        )
        for start in DTYPES
        for end in DTYPES
    ]
    _core.gpu_set_copies(number, rows)


@cache
def function(stem: str, entry: str, number: int) -> int:
    """The address of a kernel on a GPU, compiled at first use.

    Raises
    ------
    DeviceError
        As :func:`open_gpu`; a kernel that there is not.
    """
    return _toolkit().function(stem, entry, number)


def fused(text: str, entry: str, number: int) -> int:
    """The address of a kernel of a generated text on a GPU.

    Raises
    ------
    DeviceError
        As :func:`open_gpu`.
    """
    return _toolkit().fused(text, entry, number)


def compiled(
    text: str, options: tuple[str, ...], exports: tuple[str, ...], entry: str, number: int
) -> int:
    """The address of a kernel of a user's text on a GPU.

    Raises
    ------
    InvalidArgumentError
        A text that does not compile, or has no such kernel.
    DeviceError
        As :func:`open_gpu`.
    """
    return _toolkit().compiled(text, options, exports, entry, number)


@cache
def limits(number: int) -> Limits:
    """How many threads pay on a GPU, and whether there is a library of matrix products.

    An operator without inputs may be the first thing that is asked of a GPU.
    """
    open_gpu(number)
    plan = partial(_planned, number)
    return replace(_toolkit().limits(number), has_blas=_has_blas(), plan_convolution=plan)


@cache
def _has_blas() -> bool:
    """Loads the library of matrix products; ``FERROMIX_GPU_BLAS=0`` does without."""
    library = None if os.environ.get("FERROMIX_GPU_BLAS") == "0" else _toolkit().blas()
    if library is not None:
        _core.gpu_install_blas(library, rounds())
    return library is not None


def _planned(number: int, *problem: Any) -> _core.GpuConvolution | None:
    """How a library does a convolution, if there is one and it does."""
    return _core.gpu_plan_convolution(number, *problem) if _has_convolutions() else None


@cache
def _has_convolutions() -> bool:
    """Loads the library of convolutions; says once where there is none.

    ``FERROMIX_GPU_CUDNN=0`` does without.
    """
    if os.environ.get("FERROMIX_GPU_CUDNN") == "0":
        return False
    library = _toolkit().convolutions()
    if library is not None:
        winograd = os.environ.get("FERROMIX_WINOGRAD") != "0"
        _core.gpu_install_convolutions(library, rounds(), winograd)
        return True
    _missing(
        "convolutions on GPUs run by Ferromix's own kernels, as there is no cuDNN; install "
        "nvidia-cudnn-cu12 or nvidia-cudnn-cu13, or set FERROMIX_GPU_CUDNN=0"
    )
    return False


def _missing(what: str) -> None:
    if os.environ.get("FERROMIX_GPU_FALLBACK_LOG") != "0":
        warnings.warn(f"{what}, which silences this", RuntimeWarning, stacklevel=3)


@cache
def has_collectives() -> bool:
    """Loads the library of sums among GPUs; says once where there is none.

    ``FERROMIX_GPU_NCCL=0`` does without.
    """
    if os.environ.get("FERROMIX_GPU_NCCL") == "0":
        return False
    library = _toolkit().collectives()
    if library is not None:
        _core.gpu_install_collectives(library)
        return True
    _missing(
        "arrays of several GPUs are added up by copies, as CuPy has no NCCL; install "
        "nvidia-nccl-cu12 or nvidia-nccl-cu13, or set FERROMIX_GPU_NCCL=0"
    )
    return False
