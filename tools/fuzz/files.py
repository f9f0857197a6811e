"""Files that were damaged, or written by somebody with bad intentions."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

from draw import INTEGERS, LONG, Draw
from limits import Case

import ferromix as mx

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"


def _corpus() -> dict[str, list[bytes]]:
    """Whole files by format."""
    graphs = [p.read_bytes() for p in sorted(GOLDEN.glob("*/*.json")) if "facts" not in p.name]
    arrays = [p.read_bytes() for p in sorted(GOLDEN.glob("params/*.params"))]
    pixels = struct.pack(">IIII", 2051, 2, 3, 3) + bytes(18)
    return {
        "json": [g for g in graphs if len(g) < 100_000],
        "params": arrays,
        "safetensors": [(GOLDEN / "safetensors/reference.safetensors").read_bytes()],
        "rec": [p.read_bytes() for p in sorted(GOLDEN.glob("recordio/*.rec"))],
        "keys": [p.read_bytes() for p in sorted(GOLDEN.glob("recordio/*.idx"))],
        "csv": [p.read_bytes() for p in sorted(GOLDEN.glob("iterators/*.csv"))],
        "svm": [p.read_bytes() for p in sorted(GOLDEN.glob("iterators/*.svm"))],
        "idx": [pixels, struct.pack(">II", 2049, 2) + bytes(2), struct.pack(">II", 0xD02, 3)],
    }


def _damaged(draw: Draw, data: bytes) -> bytes:
    """Some bytes changed, cut off, repeated or put in."""
    found = bytearray(data)
    for _ in range(draw.int(1, 4)):
        at = draw.int(0, max(len(found) - 1, 0))
        kind = draw.int(0, 4)
        if kind == 0:
            found[at : at + 1] = bytes([draw.int(0, 255)])
        elif kind == 1:
            del found[at:]
        elif kind == 2:
            del found[at : at + draw.int(1, 16)]
        elif kind == 3:
            found[at:at] = found[at : at + draw.int(1, 64)]
        else:
            number = draw.one(INTEGERS) % 2**64
            found[at : at + 8] = struct.pack(draw.one(("<Q", ">Q")), number)
    return bytes(found)


def _other_number(draw: Draw, text: str) -> str:
    """One of the numbers in a text is another one."""
    places = list(re.finditer(r"-?\d+", text))
    if not places:
        return text
    place = draw.one(places)
    number = draw.one(LONG) if draw.maybe(0.1) else str(draw.one(INTEGERS))
    return text[: place.start()] + number + text[place.end() :]


def _other_member(draw: Draw, graph: Any) -> None:
    """One member, anywhere in a parsed file, is something else."""
    while isinstance(graph, (dict, list)) and len(graph):
        key = draw.one(list(graph) if isinstance(graph, dict) else range(len(graph)))
        below = graph[key]
        if isinstance(below, (dict, list)) and len(below) and draw.maybe(0.8):
            graph = below
            continue
        if draw.maybe(0.2):
            del graph[key]
        else:
            graph[key] = draw.one(
                (None, True, -1, 0, 3, 1.5, "", "x", [], {}, [[]], draw.extreme(), [0, 0, 0])
            )
        return


def _graph(draw: Draw, data: bytes) -> bytes:
    """A graph, damaged in its bytes, its numbers or its structure."""
    kind = draw.int(0, 2)
    if kind == 0:
        return _damaged(draw, data)
    if kind == 1:
        return _other_number(draw, data.decode()).encode()
    graph = json.loads(data)
    for _ in range(draw.int(1, 3)):
        _other_member(draw, graph)
    return json.dumps(graph).encode()


def _load_graph(path: str, way: int) -> Any:
    symbol = mx.sym.load(path) if way else mx.sym.load_json(Path(path).read_text("utf-8"))
    symbol.infer_shape_partial(data=(2, 3, 8, 8))
    symbol.attr_dict()
    return symbol.tojson()


def _load_idx(path: str, way: int) -> Any:
    if way:
        return mx.io.read_idx(path).size
    labels = path + ".labels"
    Path(labels).write_bytes(struct.pack(">II", 2049, 2) + bytes(2))
    found = mx.io.MNISTIter(image=path, label=labels, batch_size=1, shuffle=False)
    return [batch.data for batch in found]


def _load_records(path: str, way: int) -> Any:
    with mx.recordio.MXRecordIO(path, "r") as record:
        found = list(iter(record.read, None))
    return [mx.recordio.unpack(data) for data in found] if way else found


def _load_keys(path: str, way: int) -> Any:
    records = str(GOLDEN / "recordio/keys.rec")
    with mx.recordio.MXIndexedRecordIO(path, records, "r", (int, str)[way]) as record:
        return [record.read_idx(key) for key in record.keys]


def _load_csv(path: str, way: int) -> Any:
    args = {"dtype": ("float32", "int64")[way], "round_batch": way, "batch_size": 3}
    it = mx.io.CSVIter(data_csv=path, data_shape=(1 + 2 * way,), **args)
    return [batch.data[0].asnumpy() for batch in it]


def _load_svm(path: str, way: int) -> Any:
    it = mx.io.LibSVMIter(data_libsvm=path, data_shape=(9,), batch_size=2, num_parts=1 + way)
    return [batch.data[0].asnumpy() for batch in it]


def _header(draw: Draw, data: bytes) -> bytes:
    """A safetensors file, damaged in its bytes, its numbers or its structure."""
    kind, end = draw.int(0, 2), 8 + int.from_bytes(data[:8], "little")
    if kind == 0:
        return _damaged(draw, data)
    header, rest = data[8:end].decode(), data[end:]
    if kind == 1:
        header = _other_number(draw, header)
    else:
        members = json.loads(header)
        _other_member(draw, members)
        header = json.dumps(members)
    return len(header.encode()).to_bytes(8, "little") + header.encode() + rest


def _load_params(path: str, way: int) -> Any:
    return mx.nd.load_frombuffer(Path(path).read_bytes()) if way else mx.nd.load(path)


LOADERS = {
    "json": _load_graph,
    "params": _load_params,
    "rec": _load_records,
    "keys": _load_keys,
    "csv": _load_csv,
    "svm": _load_svm,
    "idx": _load_idx,
    "safetensors": lambda path, _: mx.nd.load(path),
}
DAMAGE = {"json": _graph, "safetensors": _header}
CORPUS = _corpus()


def case(draw: Draw) -> Case:
    """Loads a file that is not as it was."""
    forms = "json", "json", "params", "idx", "safetensors", "rec", "keys", "csv", "svm"
    form = draw.one(forms)
    data = DAMAGE.get(form, _damaged)(draw, draw.one(CORPUS[form]))
    path, way = f"damaged.{form}", draw.int(0, 1)

    def run() -> Any:
        Path(path).write_bytes(data)
        return LOADERS[form](path, way)

    return Case(run, lambda: f"{form}, way {way}: {data[:300]!r}", len(data))
