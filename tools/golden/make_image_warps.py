"""Writes tests/golden/image_warps/ with MXNet 1.9.1: batches of ImageRecordIter with warped images.

PYTHON_WITH_MXNET tools/golden/make_image_warps.py

The records are those of make_image_records.py. Only what does not depend on MXNet's random numbers
is here: ranges of one value, and ranges so narrow that images change by nothing.
"""

import json
import tempfile
from pathlib import Path

import mxnet as mx
import numpy as np

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
OUT = GOLDEN / "image_warps"


def scaled(scale, **others):
    return {"min_random_scale": scale, "max_random_scale": scale, **others}


def stretched(ratio, **others):
    return {"min_aspect_ratio": ratio, "max_aspect_ratio": ratio, **others}


CASES = [
    *({"rotate": angle} for angle in (1, 30, 45, 90, 180, 270, 400)),
    *({"rotate": 25, "inter_method": method} for method in (2, 3, 4, 9)),
    {"rotate": 35, "fill_value": 0, "data_shape": (3, 30, 28)},
    {"rotate": 35, "fill_value": 9, "data_shape": (1, 20, 20), "resize": 22},
    *(scaled(scale) for scale in (0.5, 0.9, 1.3, 2)),
    *(scaled(scale, inter_method=9) for scale in (0.7, 1.4)),
    *(stretched(ratio) for ratio in (0.6, 1.5)),
    stretched(1.3, rotate=60, inter_method=2, **scaled(1.2), data_shape=(3, 24, 24)),
    stretched(1.2, rotate=20, inter_method=4, **scaled(1.1), resize=21, pad=2),
    {"max_shear_ratio": 1e-9, "rotate": 10},
    {"min_img_size": 30},
    {"max_img_size": 20},
    {"max_img_size": 18.7, "rotate": 15},
    {"min_img_size": 10, "max_img_size": 14, **scaled(0.8)},
    {"inter_method": 9, "data_shape": (3, 22, 20)},
    {"inter_method": 9, "data_shape": (3, 26, 38)},
    {"min_crop_size": 12, "max_crop_size": 12},
    {"min_crop_size": 17, "max_crop_size": 17, "rotate": 40, "inter_method": 2},
    {"random_h": 1},
    {"random_s": 1, "resize": 19, "mirror": True},
    {"random_l": 1, "rotate": 90, "iterator": "ImageRecordUInt8Iter"},
    {"mean_img": True},
    {"mean_img": True, "mirror": True},
    {"mean_img": True, "mirror": True, "mean_r": 10, "mean_g": 3, "std_r": 2, "scale": 0.5},
    {"mean_img": True, "data_shape": (1, 16, 16), "rotate": 90},
]


def batches(case, folder):
    options = {"data_shape": (3, 16, 16), **case}
    iterator = getattr(mx.io, options.pop("iterator", "ImageRecordIter"))
    if options.get("mean_img"):
        options["mean_img"] = str(folder / "mean.bin")
    records = str(GOLDEN / "image_records" / "png.rec")
    it = iterator(path_imgrec=records, batch_size=5, preprocess_threads=1, verbose=False, **options)
    found = {"data": it.next().data[0].asnumpy()}
    if options.get("mean_img"):
        found["mean"] = mx.nd.load(options["mean_img"])["mean_img"].asnumpy()
    return found


OUT.mkdir(exist_ok=True)
arrays = {}
for number, case in enumerate(CASES):
    with tempfile.TemporaryDirectory() as folder:
        for name, array in batches(case, Path(folder)).items():
            arrays[f"{number} {name}"] = array
np.savez_compressed(OUT / "batches.npz", **arrays)
(OUT / "cases.json").write_text(json.dumps(CASES, indent=1) + "\n")
