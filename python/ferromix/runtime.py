"""What this installation can do, under MXNet's names for features."""

from __future__ import annotations

from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path

from .context import num_gpus
from .error import MXNetError

__all__ = ["Feature", "Features", "feature_list"]


class Feature:
    """A feature by its name, and whether it is there.

    Attributes
    ----------
    name
        MXNet's name.
    enabled
        Whether it is there.
    """

    def __init__(self, name: str, enabled: bool) -> None:
        self.name = name
        self.enabled = enabled

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


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
"""Features of the processor, by Linux's names; kernels choose among those that it has."""

_NAMES = (
    *("CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3"),
    *("CPU_SSE4_1", "CPU_SSE4_2", "CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C"),
    *("JEMALLOC", "BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "LAPACK", "MKLDNN"),
    *("OPENCV", "CAFFE", "PROFILER", "DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE"),
    *("SIGNAL_HANDLER", "DEBUG", "TVM_OP"),
)


def _flags() -> set[str]:
    """The processor's features, where Linux says them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    found = (line.partition(":")[2].split() for line in lines if line.startswith("flags"))
    return set(next(found, []))


def feature_list() -> list[Feature]:
    """All of MXNet's features, each with whether it is there.

    Libraries that MXNet may be built with are not: Ferromix has kernels, products of matrices and
    a decoder of images of its own.

    Examples
    --------
    >>> import ferromix as mx
    >>> [f for f in mx.runtime.feature_list() if f.name in ("PROFILER", "MKLDNN")]
    [✖ MKLDNN, ✔ PROFILER]
    """
    flags, gpus = _flags(), num_gpus() > 0
    there = {name for name, flag in _INSTRUCTIONS.items() if flag in flags}
    there |= {"PROFILER", "INT64_TENSOR_SIZE", "SIGNAL_HANDLER"}
    there |= {"CUDA", "CUDA_RTC"} if gpus else set()
    there |= {"DIST_KVSTORE"} if find_spec("mpi4py") else set()
    return [Feature(name, name in there) for name in _NAMES]


class Features(OrderedDict[str, Feature]):
    """All features by name.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.runtime.Features().is_enabled("PROFILER")
    True
    """

    instance: Features | None = None

    def __new__(cls) -> Features:
        """The one table of the process."""
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            for feature in feature_list():
                OrderedDict.__setitem__(cls.instance, feature.name, feature)
        return cls.instance

    def __init__(self) -> None:
        # Filled where it was made; the base would empty it.
        pass

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.values()))}]"

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there.

        Raises
        ------
        MXNetError
            An unknown name; lists the known ones.
        """
        name = str(feature_name).upper()
        if name not in self:
            raise MXNetError(f"Feature '{name}' is unknown, known features are: {list(self)}")
        return self[name].enabled
