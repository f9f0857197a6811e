# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .symbol import Symbol

def __dir__() -> list[str]: ...
def quadratic(
    data: Symbol | None = None,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
