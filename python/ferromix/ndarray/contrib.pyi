# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .ndarray import NDArray
from .finite import isfinite as isfinite
from .finite import isinf as isinf
from .finite import isnan as isnan
from .steps import adamw_update as adamw_update
from .steps import mp_adamw_update as mp_adamw_update
from .steps import multi_adamw_update as multi_adamw_update
from .steps import multi_lamb_update as multi_lamb_update
from .steps import multi_mp_adamw_update as multi_mp_adamw_update
from .steps import multi_mp_lamb_update as multi_mp_lamb_update

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def SparseEmbedding(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def allclose(
    a: NDArray | None = None,
    b: NDArray | None = None,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arange_like(
    data: NDArray | None = None,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = '',
    axis: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def div_sqrt_dim(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gradientmultiplier(
    data: NDArray | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def group_adagrad_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    history: NDArray | None = None,
    lr: float | None = None,
    epsilon: float = 1e-05,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def index_array(
    data: NDArray | None = None,
    axes: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def quadratic(
    data: NDArray | None = None,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def round_ste(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sign_ste(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
