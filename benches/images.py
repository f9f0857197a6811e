"""Images from a RecordIO file to batches, beside MXNet, and what each step costs.

    python benches/images.py FOLDER [--peer PYTHON]

FOLDER has photographs as JPEG; their shorter side becomes 320 pixels, in quality 90, and each is
written many times. PYTHON is an interpreter with MXNet 1.9.1. The work is a shorter edge of 256,
a random part of 224 by 224, mirrored at random, as float32 in batches of 64. Images a second: the
median of five epochs, of three processes of each package in turns. Steps: microseconds an image on
one thread, by leaving steps out.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COPIES, ROUNDS = 600, 3
WORK = {
    "data_shape": (3, 224, 224),
    "batch_size": 64,
    "resize": 256,
    "rand_crop": True,
    "rand_mirror": True,
    "shuffle": True,
    "preprocess_threads": 2,
}
SMALL = {"data_shape": (3, 8, 8), "batch_size": 64}
LARGE = {"data_shape": (3, 224, 224), "batch_size": 64}
COLORS = {"brightness": 0.1, "contrast": 0.1, "saturation": 0.1}
STEPS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("read and decode", SMALL, {}),
    ("resize", {**LARGE, "resize": 256}, LARGE),
    ("crop, mirror, normalise, lay out", {**LARGE, "rand_mirror": True}, SMALL),
    (
        "brightness, contrast, saturation",
        {**LARGE, "brightness": 0.1, "contrast": 0.1, "saturation": 0.1},
        LARGE,
    ),
]


def write(folder: str, path: Path) -> int:
    """A file of records of the photographs in a folder; how many."""
    from PIL import Image

    import ferromix as mx

    images = []
    for name in sorted(Path(folder).glob("*.jpg")):
        image = Image.open(name).convert("RGB")
        scale = 320 / min(image.size)
        sides = [max(1, round(side * scale)) for side in image.size]
        out = io.BytesIO()
        image.resize((sides[0], sides[1])).save(out, "JPEG", quality=90)
        images.append(out.getvalue())
    with mx.recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w") as record:
        for number in range(COPIES * len(images)):
            header = mx.recordio.IRHeader(0, float(number % 10), number, 0)
            record.write_idx(number, mx.recordio.pack(header, images[number % len(images)]))
    return COPIES * len(images)


def speed(mx: Any, path: str, epochs: int, options: dict[str, Any]) -> float:
    """Images a second."""
    index = str(Path(path).with_suffix(".idx"))
    it = mx.io.ImageRecordIter(path_imgrec=path, path_imgidx=index, **options)
    found = []
    for _ in range(epochs + 1):
        it.reset()
        started, images = time.perf_counter(), 0
        for batch in it:
            batch.data[0].wait_to_read()
            images += it.batch_size - batch.pad
        found.append(images / (time.perf_counter() - started))
    return statistics.median(found[1:])


def ask(python: str, package: str, path: str, options: dict[str, Any], threads: int) -> float:
    """The speed in a process of its own."""
    words = [python, __file__, "--work", package, path, json.dumps(options)]
    names = "OMP_NUM_THREADS", "MXNET_CPU_WORKER_NTHREADS"
    variables = {**os.environ, **dict.fromkeys(names, str(threads))}
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=variables)
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    if sys.argv[1] == "--work":
        package, path, options = sys.argv[2:]
        print(speed(importlib.import_module(package), path, 5, json.loads(options)))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--peer", help="an interpreter with MXNet 1.9.1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.rec"
        print(f"{write(options.folder, path)} images, {path.stat().st_size >> 20} MB")
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(ask(sys.executable, "ferromix", str(path), WORK, 2))
            if options.peer:
                theirs.append(ask(options.peer, "mxnet", str(path), WORK, 2))
        print(f"Ferromix: {statistics.median(ours):,.0f} images a second")
        if theirs:
            print(f"MXNet: {statistics.median(theirs):,.0f} images a second")
        for name, with_step, without in STEPS:
            cost = 1e6 / ask(sys.executable, "ferromix", str(path), with_step, 1)
            if without:
                cost -= 1e6 / ask(sys.executable, "ferromix", str(path), without, 1)
            print(f"{name}: {cost:.0f} µs an image")


if __name__ == "__main__":
    main()
