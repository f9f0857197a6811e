# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .symbol import Symbol

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def adjust_lighting(
    data: Symbol | None = None,
    alpha: float | Sequence[float] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def crop(
    data: Symbol | None = None,
    x: int | None = None,
    y: int | None = None,
    width: int | None = None,
    height: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def flip_left_right(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def flip_top_bottom(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def normalize(
    data: Symbol | None = None,
    mean: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    std: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_brightness(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_color_jitter(
    data: Symbol | None = None,
    brightness: float | None = None,
    contrast: float | None = None,
    saturation: float | None = None,
    hue: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_contrast(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_flip_left_right(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_flip_top_bottom(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_hue(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_lighting(
    data: Symbol | None = None,
    alpha_std: float = 0.05,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_saturation(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def resize(
    data: Symbol | None = None,
    size: int | Sequence[int] = (),
    keep_ratio: bool = False,
    interp: int = 1,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def to_tensor(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
