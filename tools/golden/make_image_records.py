"""Writes tests/golden/image_records/ with MXNet 1.9.1: records, and batches of ImageRecordIter.

PYTHON_WITH_MXNET_AND_PILLOW tools/golden/make_image_records.py
"""

import io
import json
from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet import recordio
from PIL import Image

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "image_records"
SMALL = {"data_shape": (3, 16, 16), "batch_size": 2}
CASES = {
    "png": [
        SMALL,
        {**SMALL, "round_batch": False},
        {**SMALL, "data_shape": (1, 16, 16)},
        {**SMALL, "data_shape": (3, 40, 36)},
        {**SMALL, "data_shape": (3, 21, 16)},
        {**SMALL, "resize": 18},
        {**SMALL, "resize": 30},
        {**SMALL, "resize": 10},
        {**SMALL, "resize": 18, "inter_method": 0},
        {**SMALL, "resize": 18, "inter_method": 2},
        {**SMALL, "resize": 18, "inter_method": 3},
        {**SMALL, "resize": 18, "inter_method": 4},
        {**SMALL, "resize": 17, "inter_method": 9},
        {**SMALL, "pad": 3},
        {**SMALL, "pad": 2, "resize": 17, "fill_value": 7},
        {**SMALL, "mirror": True},
        {**SMALL, "mean_r": 100, "mean_g": 50, "mean_b": 20, "std_r": 2, "std_b": 4, "scale": 0.5},
        {**SMALL, "part_index": 0, "num_parts": 2},
        {**SMALL, "part_index": 0, "num_parts": 3, "path_imgidx": True},
        {**SMALL, "path_imglist": True, "label_width": 2},
        {**SMALL, "iterator": "ImageRecordUInt8Iter", "mirror": True},
        {**SMALL, "iterator": "ImageRecordInt8Iter"},
        {**SMALL, "iterator": "ImageRecordIter_v1", "resize": 18},
    ],
    "jpeg444": [{**SMALL, "resize": 20}],
    "jpeg420": [{**SMALL, "resize": 20}],
}


def encoded(image, kind):
    out = io.BytesIO()
    if kind == "png":
        Image.fromarray(image).save(out, "PNG")
    else:
        subsampling = 0 if kind == "jpeg444" else 2
        Image.fromarray(image).save(out, "JPEG", quality=90, subsampling=subsampling)
    return out.getvalue()


def write(kind):
    random = np.random.RandomState(1)
    path = str(OUT / kind)
    record = recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w")
    for i in range(5):
        rows, columns = [(20, 24), (33, 19), (18, 18), (36, 40), (24, 50)][i]
        coarse = random.randint(0, 256, (5, 6, 3)).astype("uint8")
        smooth = Image.fromarray(coarse).resize((columns, rows), Image.BILINEAR)
        noise = random.randint(-12, 13, (rows, columns, 3))
        image = np.clip(np.asarray(smooth).astype(int) + noise, 0, 255).astype("uint8")
        header = recordio.IRHeader(0, float(i) + 0.5, i, 0)
        record.write_idx(i, recordio.pack(header, encoded(image, kind)))
    record.close()
    if kind == "png":
        lines = (f"{i}\t{i * 2}\t{i * 3 + 0.25}\timage{i}.png\n" for i in range(5))
        (OUT / "png.lst").write_text("".join(lines))


def batches(kind, case):
    options = dict(case)
    iterator = getattr(mx.io, options.pop("iterator", "ImageRecordIter"))
    path = str(OUT / kind)
    for name, ending in (("path_imgidx", "idx"), ("path_imglist", "lst")):
        if options.get(name):
            options[name] = f"{path}.{ending}"
    it = iterator(path_imgrec=f"{path}.rec", preprocess_threads=1, **options)
    found = []
    for _ in range(2):
        found += [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad) for b in it]
        it.reset()
    return found


OUT.mkdir(exist_ok=True)
arrays, cases = {}, []
for kind, options in CASES.items():
    write(kind)
    for case in options:
        number = len(cases)
        found = batches(kind, case)
        cases.append([kind, case, [pad for *_, pad in found]])
        for i, (data, label, _) in enumerate(found):
            arrays[f"{number} {i} data"], arrays[f"{number} {i} label"] = data, label
np.savez_compressed(OUT / "batches.npz", **arrays)
(OUT / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
