"""Writes tests/golden/image_iter: batches of MXNet 1.9.1's ImageIter and ImageDetIter, and files.

    PYTHON tools/golden/make_image_iter.py

PYTHON has MXNet 1.9.1, NumPy before 1.24, and Pillow, which writes the images. The cases are what
``cases.json`` there says.
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet import recordio
from PIL import Image

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "image_iter"
SIZES = [(14, 18), (20, 12), (16, 16), (24, 15), (13, 22), (17, 12), (12, 12)]
PATHS = ("path_imgrec", "path_imgidx", "path_imglist")


def picture(rows: int, columns: int, phase: int) -> bytes:
    """A smooth image, so that resizing is no matter of a sample here or there."""
    y, x = np.mgrid[:rows, :columns]
    waves = [
        128 + 100 * np.sin((x + phase) / 4),
        128 + 100 * np.cos((y + 2 * phase) / 5),
        20 + 30 * phase + 2 * x + y,
    ]
    file = io.BytesIO()
    Image.fromarray(np.stack(waves, -1).clip(0, 255).astype("uint8")).save(file, "PNG")
    return file.getvalue()


def boxes(number: int, width: int) -> list[float]:
    """A label for detection: the widths of head and objects, the rest of the head, objects."""
    drawn = np.random.RandomState(number)
    found = [2, 5] if width == 5 else [4, width, 20.0, 10.0]
    for i in range(1 + number % 4):
        corner, size = drawn.uniform(0, 0.5, 2), drawn.uniform(0.2, 0.5, 2)
        box = np.round(np.concatenate([corner, corner + size]), 3)
        found += [float(i), *box.tolist(), *[0.5] * (width - 5)]
    if number == 2:  # An object without an extent, which is left out.
        found += [1.0, 0.5, 0.5, 0.5, 0.9, *[0.5] * (width - 5)]
    if number == 4:  # The only object is none; the image is passed over.
        found = found[: found[0] + width]
        found[found[0]] = -1.0
    return found


def write(name: str, label_of) -> None:
    """Records with an index, and a list, of all images."""
    path = str(OUT / name)
    record = recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w")
    lines = []
    for i, (rows, columns) in enumerate(SIZES):
        label, data = label_of(i), picture(rows, columns, i)
        (OUT / f"{i}.png").write_bytes(data)
        record.write_idx(i, recordio.pack(recordio.IRHeader(0, label, i, 0), data))
        fields = label if isinstance(label, list) else [label, label * 2]
        lines.append("\t".join(map(str, [i, *fields, f"{i}.png"])) + "\n")
    record.close()
    (OUT / f"{name}.lst").write_text("".join(lines))


def options_of(case: dict) -> dict:
    """The arguments of a case, with whole paths."""
    options = dict(case["options"])
    for name in PATHS:
        if name in options:
            options[name] = str(OUT / options[name])
    if options.pop("path_root", False):
        options["path_root"] = str(OUT)
    options["data_shape"] = tuple(options["data_shape"])
    return options


def batches(case: dict, arrays: dict, number: int) -> None:
    """Adds the batches of all epochs, and what is drawn after them."""
    random.seed(number)
    np.random.seed(number)
    it = getattr(mx.image, case["iterator"])(**options_of(case))
    if "reshape" in case:
        it.reshape(label_shape=tuple(case["reshape"]))
    for epoch in range(case.get("epochs", 2)):
        pads = []
        for batch in it:
            name = f"{number} {epoch} {len(pads)}"
            pads.append(batch.pad)
            # Where one more round does not fill a batch, the rest is what was in memory.
            kept = it.batch_size - (batch.pad if case.get("short") else 0)
            arrays[f"{name} data"] = batch.data[0].asnumpy()[:kept]
            arrays[f"{name} label"] = batch.label[0].asnumpy()[:kept]
        arrays[f"{number} {epoch} pads"] = np.array(pads, int)
        ends = case.get("ends", "reset")
        if ends != "goes on":
            getattr(it, ends)()
    arrays[f"{number} drawn"] = np.array([random.random(), np.random.rand()])


def augmented(call: dict, arrays: dict, number: int) -> None:
    """Adds what an augmenter makes of boxes, and of an image: its shape, sum and first sample."""
    random.seed(number)
    np.random.seed(number)
    augmenter = getattr(mx.image, call["name"])(**call["options"])
    image = np.arange(20 * 28 * 3).reshape(20, 28, 3) % 251
    images, labels = [], []
    for turn in range(call["turns"]):
        label = np.array(boxes(turn + 5, 5)[2:], "float32").reshape(-1, 5)
        data, label = augmenter(mx.nd.array(image, dtype="uint8"), label)
        samples = data.asnumpy().astype(int)
        images.append([*samples.shape, samples.sum(), samples[0, 0, 0], len(label)])
        labels.append(label)
    arrays[f"aug {number} images"] = np.array(images)
    arrays[f"aug {number} labels"] = np.concatenate(labels)
    arrays[f"aug {number} drawn"] = np.array([random.random(), np.random.rand()])


def main() -> None:
    """Writes everything."""
    write("classes", lambda i: float(i) + 0.5)
    write("boxes", lambda i: boxes(i, 5))
    write("wide", lambda i: boxes(i, 6))
    arrays: dict[str, np.ndarray] = {}
    cases = json.loads((OUT / "cases.json").read_text())
    for number, case in enumerate(cases["batches"]):
        batches(case, arrays, number)
    for number, call in enumerate(cases["augmenters"]):
        augmented(call, arrays, number)
    np.savez_compressed(OUT / "batches.npz", **arrays)


if __name__ == "__main__":
    main()
