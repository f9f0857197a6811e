"""Make the lists and images that the tests compare with, in `tests/golden/im2rec/`.

Needs MXNet 1.9.1 and OpenCV, which nothing else in this repository does:

    python tools/golden/make_im2rec.py

`lists.json` has a folder, as names and the files of `tests/golden/image/` that are copied there,
and the lists that MXNet's `tools/im2rec.py` makes of it with each row of options. `records.npz` has
what it packs with others: for each record id, label and pixels, or the file as it is. That MXNet
reads what Ferromix packs is checked by hand:

    python tools/golden/make_im2rec.py --check PREFIX
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mxnet as mx
import numpy as np

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
OUT = GOLDEN / "im2rec"
SCRIPT = Path(mx.__file__).parent / "tools" / "im2rec.py"
LAYOUT = {
    "b/1.JPG": "444.jpg",
    "b/2.png": "rgb.png",
    "b/d/3.jpeg": "gray.jpg",
    "a/turned.jpg": "turned.jpg",
    "a/10.png": "opacity.png",
    "a/9.png": "palette.png",
    "a/notes.txt": "rgb.png",
    "top.jpg": "420.jpg",
    "gray.png": "gray.png",
}
LISTS = [
    "--recursive",
    "--recursive --no-shuffle",
    "--no-shuffle",
    "--recursive --exts .png",
    "--recursive --chunks 3",
    "--recursive --train-ratio 0.5",
    "--recursive --train-ratio 0.5 --test-ratio 0.5",
    "--recursive --chunks 2 --train-ratio 0.5 --test-ratio 0.3",
]
RECORDS = [
    "--pass-through",
    "--pass-through --pack-label",
    "--encoding .png",
    "--encoding .png --resize 20",
    "--encoding .png --center-crop",
    "--encoding .png --color 0 --resize 30 --center-crop",
    "--encoding .png --color -1",
    "--encoding .jpg --color -1",
    "--encoding .jpg --quality 70",
]


def run(folder: Path, options: str) -> None:
    """Call MXNet's script with the prefix `out/x` and the root `root` of a folder."""
    command = [sys.executable, str(SCRIPT), "out/x", "root", *options.split()]
    subprocess.run(command, cwd=folder, check=True, timeout=120)


def lists(folder: Path) -> list[dict[str, object]]:
    """Return options, and the text of each list that they make."""
    rows: list[dict[str, object]] = []
    for options in LISTS:
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / "out").mkdir()
        run(folder, f"--list {options}")
        made = {p.name: p.read_text() for p in sorted((folder / "out").iterdir())}
        rows.append({"options": options, "lists": made})
    return rows


def records(prefix: str) -> list[tuple[mx.recordio.IRHeader, bytes]]:
    """Return header and data of each record, in the order of the index."""
    reader = mx.recordio.MXIndexedRecordIO(f"{prefix}.idx", f"{prefix}.rec", "r")
    return [mx.recordio.unpack(reader.read_idx(key)) for key in reader.keys]


def packed(folder: Path) -> dict[str, np.ndarray]:
    """Return ids, labels and pixels for each row of options."""
    out = folder / "out"
    found: dict[str, np.ndarray] = {}
    entries = enumerate(sorted(set(LAYOUT) - {"a/notes.txt"}))
    text = "".join(f"{3 * i}\t{i / 4:f}\t{i + 7:f}\t{path}\n" for i, path in entries)
    for row, options in enumerate(RECORDS):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        (out / "x.lst").write_text(text)
        run(folder, options)
        if row == 0:
            found["list"] = np.frombuffer(text.encode(), np.uint8)
        if row <= 1:
            for end in ("rec", "idx"):
                found[f"{row}.{end}"] = np.frombuffer((out / f"x.{end}").read_bytes(), np.uint8)
            continue
        for i, (header, data) in enumerate(records(str(out / "x"))):
            image = mx.recordio.unpack_img(mx.recordio.pack(header, data), -1)[1]
            found[f"{row}.{i}.head"] = np.array([header.id, header.label])
            found[f"{row}.{i}.image"] = image
    return found


def check(prefix: str) -> None:
    """Say what MXNet finds in the records of a prefix."""
    for header, data in records(prefix):
        print(header.id, header.label, mx.image.imdecode(data).shape)


def main() -> None:
    """Make the folder, and write what MXNet makes of it."""
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
        return
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, source in LAYOUT.items():
            (folder / "root" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(GOLDEN / "image" / source, folder / "root" / path)
        made = {"layout": LAYOUT, "lists": lists(folder), "records": RECORDS}
        (OUT / "lists.json").write_text(json.dumps(made, indent=1) + "\n")
        np.savez_compressed(OUT / "records.npz", **packed(folder))


if __name__ == "__main__":
    main()
