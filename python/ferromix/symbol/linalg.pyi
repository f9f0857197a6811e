# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .symbol import Symbol

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def det(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def extractdiag(
    A: Symbol | None = None,
    offset: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def extracttrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def gelqf(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def gemm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    C: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def gemm2(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def inverse(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def makediag(
    A: Symbol | None = None,
    offset: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def maketrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def potrf(
    A: Symbol | None = None,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def potri(
    A: Symbol | None = None,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def slogdet(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def sumlogdiag(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def syevd(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def syrk(
    A: Symbol | None = None,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def trmm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def trsm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
