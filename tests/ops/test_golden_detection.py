"""What MXNet 1.9.1 computes, from files that tools/golden/make_detection.py wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FILES = sorted((Path(__file__).parents[1] / "golden" / "detection").glob("*.npz"))


def cases():
    for file in FILES:
        with np.load(file) as data:
            text, rest = json.loads(str(data["text"])), data["data"].tobytes()
        arrays = []
        for dtype, shape in text["arrays"]:
            array = np.frombuffer(rest, dtype, int(np.prod(shape))).reshape(shape)
            arrays.append(array)
            rest = rest[array.nbytes :]
        for row in text["cases"]:
            yield row, arrays


GOLDEN = list(cases())


def name_of(pair):
    return "-".join([pair[0]["op"], *(f"{k}={v}" for k, v in pair[0]["attrs"].items())])


def close(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=5e-5, atol=2e-5)


def test_files_are_there():
    assert [file.stem for file in FILES] == ["boxes", "quantized"]


@pytest.mark.parametrize("golden", GOLDEN, ids=name_of)
def test_as_mxnet(golden):
    row, arrays = golden
    inputs = [mx.nd.array(x, dtype=x.dtype) for x in (arrays[i] for i in row["in"])]
    inputs[0].attach_grad()
    with mx.autograd.record("grad" in row):
        found = getattr(mx.nd, row["op"])(*inputs, **row["attrs"])
    found = found if isinstance(found, list | tuple) else [found]
    expected = [arrays[i] for i in row["out"]]
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        close(a, b)
    if "grad" in row:
        found[0].backward(mx.nd.array(arrays[row["head"]]))
        close(inputs[0].grad, arrays[row["grad"]])
