# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .ndarray import NDArray

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def adjust_lighting(
    data: NDArray | None = None,
    alpha: float | Sequence[float] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def crop(
    data: NDArray | None = None,
    x: int | None = None,
    y: int | None = None,
    width: int | None = None,
    height: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def flip_left_right(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def flip_top_bottom(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def normalize(
    data: NDArray | None = None,
    mean: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    std: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_brightness(
    data: NDArray | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_color_jitter(
    data: NDArray | None = None,
    brightness: float | None = None,
    contrast: float | None = None,
    saturation: float | None = None,
    hue: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_contrast(
    data: NDArray | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_flip_left_right(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_flip_top_bottom(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_hue(
    data: NDArray | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_lighting(
    data: NDArray | None = None,
    alpha_std: float = 0.05,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_saturation(
    data: NDArray | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def resize(
    data: NDArray | None = None,
    size: int | Sequence[int] = (),
    keep_ratio: bool = False,
    interp: int = 1,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def to_tensor(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
