"""What the package can do: ``mx.runtime.Features().is_enabled("CUDA")``.

The names are those of MXNet, which says by them what it was compiled with. Here they say what there
is, whatever it is made with: ``OPENCV`` stands for ``mx.image``, ``LAPACK`` for ``mx.nd.linalg``.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import ClassVar, NamedTuple

from .context import num_gpus
from .error import InvalidArgumentError

__all__ = ["Feature", "Features", "feature_list"]

_NAMES = (
    "CUDA CUDNN NCCL CUDA_RTC TENSORRT CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2 CPU_SSE4A "
    "CPU_AVX CPU_AVX2 OPENMP SSE F16C JEMALLOC BLAS_OPEN BLAS_ATLAS BLAS_MKL BLAS_APPLE LAPACK "
    "MKLDNN OPENCV CAFFE PROFILER DIST_KVSTORE CXX14 INT64_TENSOR_SIZE SIGNAL_HANDLER DEBUG TVM_OP"
)
_ALWAYS = {"DIST_KVSTORE", "INT64_TENSOR_SIZE", "LAPACK", "OPENCV", "PROFILER"}
_GPU = {"CUDA", "CUDA_RTC"}
_INSTRUCTIONS = {
    "CPU_SSE": "sse",
    "CPU_SSE2": "sse2",
    "CPU_SSE3": "pni",
    "CPU_SSE4_1": "sse4_1",
    "CPU_SSE4_2": "sse4_2",
    "CPU_SSE4A": "sse4a",
    "CPU_AVX": "avx",
    "CPU_AVX2": "avx2",
    "F16C": "f16c",
}
"""Features of the processor by Linux's names; kernels choose among those that it has."""


class Feature(NamedTuple):
    """Something that the package can do, or cannot."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _flags() -> set[str]:
    """The processor's features, where Linux says them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    found = (line.partition(":")[2].split() for line in lines if line.startswith("flags"))
    return set(next(found, []))


def feature_list() -> list[Feature]:
    """All features."""
    there = set(_ALWAYS)
    flags = _flags()
    there |= {name for name, flag in _INSTRUCTIONS.items() if flag in flags}
    if num_gpus():
        there |= _GPU
    return [Feature(name, name in there) for name in _NAMES.split()]


class Features(OrderedDict[str, Feature]):
    """The features by name; there is one object of this class.

    >>> import ferromix as mx
    >>> mx.runtime.Features().is_enabled("DIST_KVSTORE"), mx.runtime.Features()["TVM_OP"]
    (True, ✖ TVM_OP)
    """

    instance: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        """The one object."""
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            OrderedDict.__init__(cls.instance, [(f.name, f) for f in feature_list()])
        return cls.instance

    def __init__(self) -> None:  # `__new__` fills it.
        pass

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether there is a feature; capitals do not matter.

        Raises
        ------
        InvalidArgumentError
            For an unknown name.
        """
        name = str(feature_name).upper()
        if name not in self:
            raise InvalidArgumentError(f"unknown feature '{name}'; features: {', '.join(self)}")
        return self[name].enabled
