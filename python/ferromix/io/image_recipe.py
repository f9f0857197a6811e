"""What becomes of images, from the parameters of iterators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..error import InvalidArgumentError

__all__ = ["recipe_of", "sample_shape", "sizes_of"]

_LARGEST = 2**15
"""The most pixels that an edge or a padding may be given as."""

_CONFLICTING = {
    "min_random_scale": 1,
    "max_random_scale": 1,
    "min_crop_size": -1,
    "max_crop_size": -1,
    "rand_crop": False,
}
"""What must have its default beside random_resized_crop."""

_NO_LIMITS = (0, 1e10)


def sample_shape(iterator: str, typed: Mapping[str, Any]) -> tuple[int, int, int]:
    """Channels, height and width of a sample.

    Raises
    ------
    InvalidArgumentError
        For another number of dimensions or channels.
    """
    shape = typed["data_shape"]
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InvalidArgumentError(
            f"{iterator}: data_shape must be (channels, height, width) with 1 or 3 channels, "
            f"got {shape}"
        )
    return shape


def sizes_of(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """What all recipes say of sizes.

    Raises
    ------
    InvalidArgumentError
        For what makes no image.
    """
    if typed["inter_method"] not in (0, 1, 2, 3, 4, 9, 10):
        raise InvalidArgumentError(
            f"{iterator}: inter_method must be 0 to 4, 9 or 10, got {typed['inter_method']}"
        )
    for name in ("resize", "fill_value"):
        low, high = (-1, _LARGEST) if name == "resize" else (0, 255)
        if not low <= typed[name] <= high or (name == "resize" and typed[name] == 0):
            raise InvalidArgumentError(f"{iterator}: {name}={typed[name]} makes no image")
    return {
        "shape": list(sample_shape(iterator, typed)),
        "resize": None if typed["resize"] < 0 else typed["resize"],
        "fill": typed["fill_value"],
        "interpolation": typed["inter_method"],
    }


def recipe_of(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """What the core is to make of images, from the parameters of ImageRecordIter.

    Raises
    ------
    InvalidArgumentError
        Names the parameter, its value and what is allowed.
    """
    shape = sample_shape(iterator, typed)
    deviation = [typed["std_r"], typed["std_g"], typed["std_b"]]
    if 0 in deviation:
        raise InvalidArgumentError(f"{iterator}: std_r, std_g and std_b must not be 0")
    if not 0 <= typed["pad"] <= _LARGEST:
        raise InvalidArgumentError(f"{iterator}: pad={typed['pad']} makes no image")
    shifts = [typed["random_h"], typed["random_l"], typed["random_s"]]
    if shape[0] == 1 and any(shifts):
        raise InvalidArgumentError(
            f"{iterator}: random_h, random_s and random_l need 3 channels, got data_shape {shape}"
        )
    return {
        **sizes_of(iterator, typed),
        "warp": _warp(iterator, typed),
        "pad": typed["pad"],
        "mirror": (typed["mirror"], typed["rand_mirror"]),
        "mean": [typed["mean_r"], typed["mean_g"], typed["mean_b"]][: shape[0]],
        "deviation": deviation,
        "scale": typed["scale"],
        "contrast": typed["max_random_contrast"],
        "illumination": typed["max_random_illumination"],
        "shifts": shifts,
        "colors": [typed["brightness"], typed["contrast"], typed["saturation"]],
        "noise": typed["pca_noise"],
        **_crop(iterator, typed),
    }


def _warp(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any] | None:
    """How images are warped; None where nothing asks for it."""
    least, most = typed["min_aspect_ratio"], typed["max_aspect_ratio"]
    aspect = [1 - most, 1 + most] if least is None else [least, most]
    if typed["random_resized_crop"]:
        aspect = [1, 1]
    warp = {
        "rotate": typed["rotate"] if typed["rotate"] > 0 else None,
        "angle": max(typed["max_rotate_angle"], 0),
        "shear": max(typed["max_shear_ratio"], 0),
        "scale": [typed["min_random_scale"], typed["max_random_scale"]],
        "aspect": aspect,
        "limits": [typed["min_img_size"], typed["max_img_size"]],
    }
    still = {
        "rotate": None,
        "angle": 0,
        "shear": 0,
        "scale": [1, 1],
        "aspect": [1, 1],
        "limits": [*_NO_LIMITS],
    }
    if warp == still:
        return None
    if not all(0 < scale < float("inf") for scale in warp["scale"]):
        raise InvalidArgumentError(
            f"{iterator}: min_random_scale and max_random_scale must be above 0, got "
            f"{warp['scale'][0]} and {warp['scale'][1]}"
        )
    if not all(-1 < ratio < float("inf") for ratio in aspect):
        raise InvalidArgumentError(
            f"{iterator}: ratios of width to height must be above -1, got {aspect[0]} to "
            f"{aspect[1]}; give another min_aspect_ratio or max_aspect_ratio"
        )
    return warp


def _crop(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    if typed["random_resized_crop"]:
        for name, default in _CONFLICTING.items():
            if typed[name] != default:
                raise InvalidArgumentError(
                    f"{iterator}: random_resized_crop makes the part itself; {name} must be "
                    f"{default}, got {typed[name]}"
                )
        most, least = typed["max_aspect_ratio"], typed["min_aspect_ratio"]
        aspect = [1 - most, 1 + most] if least is None else [least, most]
        area = [typed["min_random_area"], typed["max_random_area"]]
        for name, (low, high) in (("aspect_ratio", aspect), ("random_area", area)):
            if not 0 < low <= high:
                raise InvalidArgumentError(
                    f"{iterator}: {name} must be in a range above 0, got {low} to {high}"
                )
        return {"crop": "resized", "area": area, "aspect": aspect}
    low, high = typed["min_crop_size"], typed["max_crop_size"]
    if low > 0 or high > 0:
        if not 0 < low <= high:
            raise InvalidArgumentError(
                f"{iterator}: min_crop_size {low} and max_crop_size {high} make no range"
            )
        return {"crop": "square", "side": [low, high], "anywhere": typed["rand_crop"]}
    return {"crop": "random" if typed["rand_crop"] else "centre"}
