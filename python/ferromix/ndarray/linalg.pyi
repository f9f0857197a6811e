# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .ndarray import NDArray

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def det(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def extractdiag(
    A: NDArray | None = None,
    offset: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def extracttrian(
    A: NDArray | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gelqf(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def gemm(
    A: NDArray | None = None,
    B: NDArray | None = None,
    C: NDArray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gemm2(
    A: NDArray | None = None,
    B: NDArray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def inverse(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def makediag(
    A: NDArray | None = None,
    offset: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def maketrian(
    A: NDArray | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def potrf(
    A: NDArray | None = None,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def potri(
    A: NDArray | None = None,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def slogdet(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def sumlogdiag(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def syevd(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def syrk(
    A: NDArray | None = None,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def trmm(
    A: NDArray | None = None,
    B: NDArray | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def trsm(
    A: NDArray | None = None,
    B: NDArray | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
