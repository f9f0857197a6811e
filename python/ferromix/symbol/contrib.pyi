# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .symbol import Symbol
from .steps import adamw_update as adamw_update
from .steps import mp_adamw_update as mp_adamw_update

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def SparseEmbedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def allclose(
    a: Symbol | None = None,
    b: Symbol | None = None,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arange_like(
    data: Symbol | None = None,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = '',
    axis: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def div_sqrt_dim(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def gradientmultiplier(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def group_adagrad_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    history: Symbol | None = None,
    lr: float | None = None,
    epsilon: float = 1e-05,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def index_array(
    data: Symbol | None = None,
    axes: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def quadratic(
    data: Symbol | None = None,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def round_ste(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sign_ste(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
