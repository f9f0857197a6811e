"""Colours changed by given amounts: ranges of one number leave nothing to chance."""

import colorsys

import numpy as np

from ..case import Case, Refused

FLOATS = ("float32", "float16", "bfloat16")
GRAY = np.array([0.299, 0.587, 0.114])


def gray(x):
    return (x * GRAY).sum(-1, keepdims=True) if x.shape[-1] == 3 else x


def contrast(a):
    return lambda x: x * a + gray(x).mean() * (1 - a)


def saturation(a):
    return lambda x: x * a + 0.114 * x[..., 2:] * (1 - a) if x.shape[-1] == 3 else x


def hue(a):
    def turned(pixel):
        h, lightness, s = colorsys.rgb_to_hls(*(pixel / 255))
        return np.array(colorsys.hls_to_rgb((h + a) % 1, lightness, s)) * 255

    return lambda x: np.apply_along_axis(turned, -1, x)


def lighting(alpha):
    directions = np.array(
        [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
    )
    return lambda x: x + directions @ (np.array([55.46, 4.794, 1.148]) * alpha)


def case(word, oracle, shape, amount, domain="positive", dtypes=FLOATS):
    attrs = {"min_factor": amount, "max_factor": amount}
    return Case(f"_image_random_{word}", oracle, (shape,), attrs, domain, dtypes=dtypes, steps=30)


NOTHING = dict.fromkeys(("brightness", "contrast", "saturation", "hue"), 0.0)
CASES = [
    case("brightness", lambda x: x * 1.5, (2, 3, 3), 1.5, "halves", None),
    case("brightness", lambda x: x * 1.5, (0, 3, 3), 1.5, "halves", ("float32", "uint8")),
    case("contrast", contrast(1.25), (2, 3, 3), 1.25),
    case("contrast", contrast(0.5), (2, 3, 1), 0.5),
    case("saturation", saturation(0.75), (2, 3, 3), 0.75),
    case("saturation", saturation(0.75), (2, 3, 1), 0.75),
    case("hue", hue(0.375), (3, 4, 3), 0.375, dtypes=FLOATS[:1]),
    case("hue", hue(0.875), (3, 4, 3), 0.875, dtypes=FLOATS[:1]),
    Case("_image_random_color_jitter", lambda x: x, ((2, 2, 1),), NOTHING, "halves", steps=4),
    *[
        Case(
            "_image_adjust_lighting",
            lighting((0.5, -1, 2)) if channels == 3 else lambda x: x,
            ((2, 2, channels),),
            {"alpha": (0.5, -1.0, 2.0)},
            dtypes=FLOATS,
            steps=30,
        )
        for channels in (3, 1)
    ],
    Case("_image_random_lighting", lambda x: x, ((2, 2, 3),), {"alpha_std": 0.0}, "halves"),
]
REFUSED = [
    Refused("_image_adjust_lighting", ("3 floats",), None, {"alpha": (1.0, 2.0)}),
    Refused("_image_random_hue", ("max_factor", ">= 0"), None, {"min_factor": 0, "max_factor": -1}),
    Refused("_image_random_hue", ("(2, 2, 2)",), ((2, 2, 2),), {"min_factor": 0, "max_factor": 1}),
]
