"""What goes into a network: drawn from its name as seed, alike in both packages."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np


class Input(NamedTuple):
    """An input's shape and how it is drawn: integers from `least` to below `count`, or reals.

    With `boxes`, each row is such an integer, a class, and the corners of a box of an image; rows
    of class -1 are of -1, and end the image's.
    """

    shape: tuple[int, ...]
    count: int = 0
    least: int = 0
    stype: str = "default"
    boxes: bool = False


def inputs_of(found: dict[str, Any]) -> dict[str, Input]:
    """The inputs of a network; a plain shape is one of reals."""
    return {k: v if isinstance(v, Input) else Input(tuple(v)) for k, v in found.items()}


def seeded(*words: str) -> np.random.RandomState:
    """A generator whose numbers depend on the words alone."""
    return np.random.RandomState(zlib.crc32("/".join(words).encode()))


def draw(network: str, name: str, shape: tuple[int, ...], given: Input | None = None) -> Any:
    """The values of one argument or state of a network, in float64."""
    random = seeded(network, name)
    if given is not None and given.boxes:
        kinds = random.randint(given.least, given.count, (*shape[:-1], 1))
        start = random.uniform(0, 0.3, (*shape[:-1], 2))
        end = start + random.uniform(0.2, 0.7, start.shape)
        rows = np.concatenate([kinds, start, end], axis=-1)
        return np.where(np.minimum.accumulate(kinds, axis=-2) < 0, -1.0, rows)
    if given is not None and given.count:
        return random.randint(given.least, given.count, shape).astype("float64")
    if given is not None and given.stype != "default":
        return random.uniform(0.1, 1, shape) * (random.uniform(size=shape) < 0.3)
    if name.endswith(("gamma", "var")):
        return random.uniform(0.5, 1.5, shape)
    if name.endswith("mean"):
        return random.uniform(-0.2, 0.2, shape)
    if given is not None or len(shape) < 2:
        return random.uniform(-1, 1, shape)
    fan = max(1, int(np.prod(shape[1:])))
    return random.uniform(-1, 1, shape) * np.sqrt(3 / fan)
