"""Writes tests/golden/image: what MXNet 1.9.1 makes of images, and the images themselves.

    PYTHON tools/golden/make_image.py

PYTHON has MXNet 1.9.1, NumPy before 1.24, and Pillow, which writes the files.
"""

from __future__ import annotations

import io
import random
from pathlib import Path

import mxnet as mx
import numpy as np
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/image"
SIZES = [(20, 15), (19, 37), (26, 18), (53, 37), (70, 44), (70, 20), (7, 60), (1, 1)]


def files() -> dict[str, bytes]:
    """Small images in all kinds of JPEG and PNG."""
    y, x = np.mgrid[:37, :53]
    waves = [128 + 100 * np.sin(x / 7), 128 + 100 * np.cos(y / 5), (x * 3 + y * 2) % 256]
    values = np.stack(waves, -1).clip(0, 255).astype("uint8")
    opacity = np.random.default_rng(0).integers(0, 256, (37, 53, 1), dtype="uint8")
    image = Image.fromarray(values)
    found = {}

    def add(name: str, picture: Image.Image, **options: object) -> None:
        file = io.BytesIO()
        picture.save(file, "JPEG" if name.endswith("jpg") else "PNG", **options)
        found[name] = file.getvalue()

    for number, name in enumerate(("444", "422", "420")):
        add(f"{name}.jpg", image, quality=90, subsampling=number)
    add("progressive.jpg", image, quality=90, progressive=True)
    add("gray.jpg", image.convert("L"), quality=90)
    turned = Image.Exif()
    turned[0x0112] = 6
    add("turned.jpg", image, quality=90, exif=turned)
    add("rgb.png", image)
    add("gray.png", image.convert("L"))
    add("palette.png", image.convert("P"), transparency=3)
    add("bits.png", image.convert("1"))
    add("opacity.png", Image.fromarray(np.concatenate([values, opacity], -1)))
    add("gray_opacity.png", Image.fromarray(np.concatenate([values[..., :1], opacity], -1)))
    add("gray16.png", Image.fromarray(values[..., 0].astype("uint16") * 257 + 13))
    return found


def sample() -> np.ndarray:
    """An image with as much detail as there can be."""
    return np.random.default_rng(1).integers(0, 256, (37, 53, 3), dtype="uint8")


def resized() -> dict[str, np.ndarray]:
    """The sample in other sizes."""
    found = {}
    for dtype in ("uint8", "float32"):
        image = mx.nd.array(sample(), dtype=dtype)
        for width, height in SIZES if dtype == "uint8" else SIZES[:3]:
            for interp in range(5):
                name = f"resize {dtype} {width} {height} {interp}"
                found[name] = mx.image.imresize(image, width, height, interp).asnumpy()
    return found


def augmented() -> dict[str, np.ndarray]:
    """The sample after augmenters that draw with known seeds."""
    found = {}
    for interp in (1, 2, 9):
        random.seed(interp)
        np.random.seed(interp)
        augmenters = mx.image.CreateAugmenter(
            (3, 16, 24),
            resize=30,
            rand_crop=True,
            rand_resize=interp == 9,
            rand_mirror=True,
            mean=True,
            std=True,
            brightness=0.3,
            contrast=0.3,
            saturation=0.3,
            hue=0.2,
            pca_noise=0.1,
            rand_gray=0.3,
            inter_method=interp,
        )
        for turn in range(4):
            image = mx.nd.array(sample(), dtype="uint8")
            for augmenter in augmenters:
                image = augmenter(image)
            found[f"augment {interp} {turn}"] = image.asnumpy()
    return found


def turned() -> dict[str, np.ndarray]:
    """Part of the sample, turned."""
    image = mx.nd.array(sample()[:9, :13].transpose(2, 0, 1), dtype="float32")
    zooms = {"": {}, "in": {"zoom_in": True}, "out": {"zoom_out": True}}
    return {
        f"turn {angle} {zoom}": mx.image.imrotate(image, angle, **options).asnumpy()
        for angle in (0, 30, -75, 200)
        for zoom, options in zooms.items()
    }


def main() -> None:
    """Writes the images, and one archive of results."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {**resized(), **augmented(), **turned()}
    for name, data in files().items():
        (FOLDER / name).write_bytes(data)
        for flag in (0, 1):
            found[f"decode {name} {flag}"] = mx.image.imdecode(data, flag=flag).asnumpy()
    border = mx.nd.array(sample()[:2, :3], dtype="uint8")
    for kind in range(5):
        made = mx.image.copyMakeBorder(border, 2, 1, 2, 1, type=kind, value=9)
        found[f"border {kind}"] = made.asnumpy()
    np.savez_compressed(FOLDER / "results.npz", **found)


if __name__ == "__main__":
    main()
