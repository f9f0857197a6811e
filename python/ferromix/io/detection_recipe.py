"""What becomes of images with objects, from the parameters of ImageDetRecordIter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..error import InvalidArgumentError
from .image_recipe import sizes_of

__all__ = ["detection_of"]

_RANGES = ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages")


def detection_of(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """What the core is to make of images and their labels.

    Raises
    ------
    InvalidArgumentError
        Names the parameter, its value and what is allowed.
    """
    sizes = sizes_of(iterator, typed)
    channels = sizes["shape"][0]
    means = [max(typed[f"mean_{channel}"], 0) for channel in "rgb"]
    if any(means):
        means = [typed[f"mean_{channel}"] for channel in "rgb"]
    deviations = [typed[f"std_{channel}"] for channel in "rgb"]
    if typed["emit_overlap_thresh"] < 0:
        raise InvalidArgumentError(
            f"{iterator}: emit_overlap_thresh must be at least 0, got "
            f"{typed['emit_overlap_thresh']}"
        )
    overlaps = typed["crop_emit_mode"] == "overlap"
    return {
        **sizes,
        "shifts": _shifts(iterator, typed),
        "contrast": (typed["max_random_contrast"], typed["random_contrast_prob"]),
        "mirror": typed["rand_mirror_prob"],
        "pad": (typed["rand_pad_prob"], typed["max_pad_scale"]),
        "crop": typed["rand_crop_prob"],
        "samplers": _samplers(iterator, typed),
        "emit": typed["emit_overlap_thresh"] if overlaps else None,
        "fit": typed["resize_mode"],
        "mean": means[:channels],
        "deviation": [by if by > 0 else 1 for by in deviations],
        "scale": typed["scale"],
        "label_fill": typed["label_pad_value"],
    }


def _shifts(iterator: str, typed: Mapping[str, Any]) -> list[tuple[int, float]]:
    shifts = [
        (typed["max_random_hue"], typed["random_hue_prob"]),
        (typed["max_random_illumination"], typed["random_illumination_prob"]),
        (typed["max_random_saturation"], typed["random_saturation_prob"]),
    ]
    if typed["data_shape"][0] == 1 and any(most and prob > 0 for most, prob in shifts):
        raise InvalidArgumentError(
            f"{iterator}: random hue, saturation and illumination need 3 channels, got data_shape "
            f"{typed['data_shape']}"
        )
    return shifts


def _samplers(iterator: str, typed: Mapping[str, Any]) -> list[dict[str, Any]]:
    count = typed["num_crop_sampler"]
    trials = _spread(iterator, typed, "max_crop_trials", count)
    samplers: list[dict[str, Any]] = [{"trials": trials[i]} for i in range(count)]
    for name in _RANGES:
        low, high = (
            _spread(iterator, typed, f"{end}_crop_{name}", count) for end in ("min", "max")
        )
        for i, sampler in enumerate(samplers):
            if not 0 <= low[i] <= high[i] or (name == "scales" and not low[i] < high[i] <= 1):
                allowed = "a range within 0 to 1" if name == "scales" else "a range above 0"
                raise InvalidArgumentError(
                    f"{iterator}: min_crop_{name} and max_crop_{name} must be {allowed}, got "
                    f"{low[i]} and {high[i]}"
                )
            sampler[name] = [low[i], high[i]]
    return samplers


def _spread(iterator: str, typed: Mapping[str, Any], name: str, count: int) -> list[Any]:
    """One value for each sampler."""
    values = [*typed[name]]
    if len(values) == 1:
        return values * max(count, 0)
    if len(values) != count:
        raise InvalidArgumentError(
            f"{iterator}: {name} must have one value, or one for each of {count} samplers, got "
            f"{len(values)}"
        )
    return values
