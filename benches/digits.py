"""MNIST's test images, for benches that train."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np


def images(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images from 0 to 1, as (count, 1, 28, 28), and their labels."""
    with gzip.open(folder / "mnist" / "t10k-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(folder / "mnist" / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return (pixels / 255).astype("float32"), labels.astype("float32")
