# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .symbol import Symbol

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
