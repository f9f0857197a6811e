"""What modules do to single parameters, and to lists of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..initializer import InitDesc
from ..io import DataBatch
from ..ndarray import NDArray
from .steps import Params

__all__ = ["check_known", "joined", "set_param"]


def set_param(
    desc: InitDesc, array: NDArray, given: Params, initializer: Any, allow_missing: bool
) -> None:
    """Sets one parameter."""
    if given is not None and str(desc) in given:
        source = given[str(desc)]
        if source is not array:
            if source.shape != array.shape:
                raise InvalidArgumentError(
                    f"the parameter '{desc}' has shape {array.shape}, got {source.shape}"
                )
            source.copyto(array)
        return
    if given is not None and not allow_missing:
        raise InvalidArgumentError(
            f"the parameter '{desc}' is not among those given; use allow_missing=True to have it "
            "made by the initializer"
        )
    if initializer is not None:
        initializer(desc, array)


def check_known(made: Mapping[str, NDArray], given: Params) -> None:
    """Raises for names that the module has not."""
    extra = [name for name in given or {} if name not in made]
    if extra:
        raise InvalidArgumentError(
            f"there is no parameter {extra[0]!r}; allow_extra=True leaves such out"
        )


def joined(batches: Sequence[DataBatch]) -> DataBatch:
    """One batch of those for each device."""

    def together(parts: Sequence[Any]) -> list[NDArray]:
        return [nd.concat(*arrays, dim=0) for arrays in zip(*parts, strict=True)]

    labels = [b.label for b in batches]
    return DataBatch(together([b.data for b in batches]), together(labels) if all(labels) else None)
