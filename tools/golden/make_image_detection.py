"""Writes tests/golden/image_detection/ with MXNet 1.9.1: records and ImageDetRecordIter's batches.

PYTHON_WITH_MXNET_AND_OPENCV tools/golden/make_image_detection.py

Only what does not depend on MXNet's random numbers is here: probabilities of 0 and 1, and ranges of
one value. What lies beyond an image in its sample is left out, as MXNet may have anything there.
"""

import json
import tempfile
from pathlib import Path

import cv2
import mxnet as mx
import numpy as np
from mxnet import recordio

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "image_detection"
SIZES = [(20, 24), (33, 19), (18, 18), (36, 40), (24, 50)]
LABELS = [
    [2, 5, 0, 0.1, 0.2, 0.5, 0.6],
    [2, 5, 1, 0.1, 0.2, 0.5, 0.6, 2, 0.3, 0.3, 0.9, 0.8],
    [4, 6, 9, 8, 3, 0.1, 0.1, 0.4, 0.4, 7],
    [2, 5, 1, 0.5, 0.5, 0.5, 0.9, 2, 0, 0, 1, 1],
    [2, 5, 1, -0.1, 0.2, 0.5, 1.6, 2, 0.3, 0.3, 0.9, 0.8, 0, 0.2, 0.2, 0.4, 0.4],
]
CASES = [
    {},
    {"round_batch": False},
    {"data_shape": (1, 16, 16)},
    {"label_pad_width": 20, "label_pad_value": -7},
    {"resize": 30},
    {"resize": 22, "inter_method": 2, "resize_mode": "shrink", "data_shape": (3, 24, 40)},
    {"inter_method": 0},
    {"inter_method": 3},
    {"inter_method": 9, "data_shape": (3, 22, 20)},
    {"resize_mode": "shrink"},
    {"resize_mode": "shrink", "data_shape": (3, 30, 44)},
    {"resize_mode": "fit", "data_shape": (3, 24, 26)},
    {"resize_mode": "fit", "data_shape": (3, 60, 50), "inter_method": 2},
    {"rand_mirror_prob": 1},
    {"random_hue_prob": 1, "max_random_hue": 1, "random_contrast_prob": 1},
    {"random_saturation_prob": 1, "max_random_saturation": 1, "rand_mirror_prob": 1.5},
    {"rand_pad_prob": 1, "max_pad_scale": 1.04},
    {"rand_crop_prob": 1, "num_crop_sampler": 0},
    {"rand_crop_prob": 1, "max_crop_trials": 0},
    {"rand_crop_prob": 1, "crop_emit_mode": "overlap", "emit_overlap_thresh": 1.5},
    {"mean_r": 100, "mean_g": 50, "mean_b": -20, "std_r": 2, "std_g": -3, "std_b": 4, "scale": 0.5},
    {"mean_r": -100, "mean_g": -50, "std_r": 2},
    {"mean_img": True},
    {"mean_img": True, "std_r": 2, "scale": 0.5, "rand_mirror_prob": 1},
    {"mean_img": True, "mean_r": 7},
    {"num_parts": 2, "part_index": 0},
    {"path_imglist": True},
    {"path_imglist": True, "label_width": 7},
]


def write():
    random = np.random.RandomState(2)
    record = recordio.MXIndexedRecordIO(str(OUT / "det.idx"), str(OUT / "det.rec"), "w")
    for i, ((rows, columns), label) in enumerate(zip(SIZES, LABELS)):
        coarse = random.randint(0, 256, (5, 6, 3)).astype("uint8")
        smooth = cv2.resize(coarse, (columns, rows), interpolation=cv2.INTER_LINEAR)
        noise = random.randint(-12, 13, (rows, columns, 3))
        image = np.clip(smooth.astype(int) + noise, 0, 255).astype("uint8")
        encoded = cv2.imencode(".png", image)[1].tobytes()
        record.write_idx(i, recordio.pack(recordio.IRHeader(0, label, i, 0), encoded))
    record.close()
    with open(OUT / "det.lst", "w") as rows:
        for i in range(5):
            label = [2, 5, i, 0.1, 0.2, 0.5, 0.6] + ([1, 0.2, 0.2, 0.3, 0.3] if i == 2 else [])
            rows.write("\t".join(map(str, [i, *label, f"image{i}.png"])) + "\n")


def batches(case, folder):
    options = {"data_shape": (3, 16, 16), "batch_size": 2, **case}
    if options.get("mean_img"):
        options["mean_img"] = str(folder / "mean.bin")
    if options.get("path_imglist"):
        options["path_imglist"] = str(OUT / "det.lst")
    records = str(OUT / "det.rec")
    it = mx.io.ImageDetRecordIter(
        path_imgrec=records, preprocess_threads=1, verbose=False, **options
    )
    for epoch in range(2):
        for batch in it:
            data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            for image, (_, rows, columns, *_) in zip(data, label):
                image[:, int(rows) :] = 0
                image[:, :, int(columns) :] = 0
            yield data, label, batch.pad
        it.reset()
        if epoch == 0 and case:
            break


OUT.mkdir(exist_ok=True)
write()
arrays, cases = {}, []
for number, case in enumerate(CASES):
    with tempfile.TemporaryDirectory() as folder:
        found = list(batches(case, Path(folder)))
    cases.append([case, [pad for *_, pad in found]])
    for i, (data, label, _) in enumerate(found):
        arrays[f"{number} {i} data"], arrays[f"{number} {i} label"] = data, label
np.savez_compressed(OUT / "batches.npz", **arrays)
(OUT / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
