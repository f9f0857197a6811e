"""Make the safetensors file that the tests compare with, in `tests/golden/safetensors/`.

Needs the reference implementation and PyTorch, which nothing else in this repository does:

    python tools/golden/make_safetensors.py

Element i of every tensor is ``(i - 3) / 4`` for floats, ``i`` for integers, ``i % 2`` for bool.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "safetensors"
TYPES = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool"]


def values(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return the tensor that the tests expect."""
    dtype = getattr(torch, name)
    index = torch.arange(int(torch.tensor(shape).prod()) if shape else 1).reshape(shape)
    if name == "bool":
        return index % 2 == 1
    return ((index - 3) / 4).to(dtype) if dtype.is_floating_point else index.to(dtype)


def main() -> None:
    """Make the file."""
    OUT.mkdir(parents=True, exist_ok=True)
    tensors = {f"layer.{name}": values(name, (2, 3)) for name in TYPES}
    tensors["scalar"] = values("float32", ())
    tensors["none"] = torch.zeros((0, 4), dtype=torch.int32)
    save_file(tensors, OUT / "reference.safetensors", {"format": "pt", "ünï": 'q"\\\n'})


if __name__ == "__main__":
    main()
