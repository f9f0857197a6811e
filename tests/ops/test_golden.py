"""What MXNet 1.9.1 computes, from files that make_ops.py and others of tools/golden wrote."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ferromix import dispatch
from ferromix.ops.card import make

from .run import Graph, to_array, to_numpy

FILES = sorted((Path(__file__).parents[1] / "golden" / "ops").glob("*.npz"))
RTOL = {"float64": 2e-5, "float32": 5e-5}
"""MXNet computed in float32, with sums in an order of its own."""


@dataclass
class Golden:
    file: Path
    number: int
    op: str
    attrs: dict
    inputs: list
    aux: list
    train: bool

    @property
    def id(self):
        words = [f"{k}={v}".replace(" ", "") for k, v in self.attrs.items()]
        return "-".join([self.op, str(self.number), *words, *["train"] * self.train])

    def read(self, part):
        with np.load(self.file) as data:
            start = f"{self.number}.{part}."
            return {k.removeprefix(start): data[k] for k in data.files if k.startswith(start)}


def load(file):
    with np.load(file) as data:
        rows = json.loads(str(data["cases"]))
    return [Golden(file, i, **row) for i, row in enumerate(rows)]


GOLDEN = [case for file in FILES for case in load(file)]
CHANCE = [g for g in GOLDEN if g.op == "Dropout"]
UPDATES = [g for g in GOLDEN if g.op.endswith("_update")]
SPECIAL = [g for g in GOLDEN if g.file.stem == "special"]
LAYERS = [g for g in GOLDEN if g not in CHANCE and g not in UPDATES and g not in SPECIAL]


def close(found, expected, dtype, what):
    expected = np.asarray(expected, "float64")
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(
        found, expected, rtol=RTOL[dtype], atol=RTOL[dtype] * scale / 10, err_msg=what
    )


def test_all_families_are_there():
    assert {f.stem for f in FILES} == {
        "activation",
        "batch_norm",
        "convolution",
        "dropout",
        "fully_connected",
        "indexing",
        "layers",
        "optimizer",
        "ordering",
        "pooling",
        "rnn",
        "sampling",
        "softmax_output",
        "special",
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("golden", LAYERS, ids=lambda g: g.id)
def test_layer(golden, dtype):
    card = make(golden.op, golden.attrs)
    assert card.list_arguments() == golden.inputs
    assert card.list_auxiliary_states() == golden.aux
    values = {**golden.read("in"), **golden.read("aux")}
    arrays = [to_array(values[n], dtype) for n in (*golden.inputs, *golden.aux)]
    outputs = dispatch.invoke(card, arrays, None, golden.train)
    expected = golden.read("out")
    assert len(expected) == card.num_visible_outputs()
    for k, value in expected.items():
        close(to_numpy(outputs[int(k)]), value, dtype, f"output {k}")
    if golden.train:
        heads = [to_array(golden.read("head")["0"], dtype)]
        grads = card.gradient(Graph(golden, arrays, outputs, heads))
        for name, grad in zip(golden.inputs, grads, strict=True):
            found = np.zeros(1) if grad is None else to_numpy(grad)
            wanted = golden.read("grad")[name]
            close(np.broadcast_to(found, wanted.shape), wanted, dtype, f"gradient of {name}")
    for name, value in golden.read("after").items():
        index = (*golden.inputs, *golden.aux).index(name)
        close(to_numpy(arrays[index]), value, dtype, f"{name} afterwards")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("golden", UPDATES, ids=lambda g: g.id)
def test_update(golden, dtype):
    arrays = [to_array(v, dtype) for v in golden.read("in").values()]
    dispatch.invoke(make(golden.op, golden.attrs), arrays, [arrays[0]])
    for array, (name, value) in zip(arrays, golden.read("after").items(), strict=True):
        close(to_numpy(array), value, dtype, name)


@pytest.mark.parametrize("golden", SPECIAL, ids=lambda g: g.id)
def test_special_numbers(golden):
    values = golden.read("in")
    arrays = [to_array(values[n], "float32") for n in golden.inputs]
    (found,) = dispatch.invoke(make(golden.op, golden.attrs), arrays)
    expected = golden.read("out")["0"]
    np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-5, atol=1e-45)
    if golden.op != "broadcast_mod":  # A remainder of -0.0 keeps its sign here.
        zeros = expected == 0
        signs = np.signbit(to_numpy(found)) == np.signbit(expected)
        assert signs[zeros].all()


@pytest.mark.parametrize("golden", CHANCE, ids=lambda g: g.id)
def test_dropout_scales_as_mxnet_does(golden):
    card = make("Dropout", golden.attrs)
    data, theirs = golden.read("in")["data"], golden.read("out")["0"]
    out, mask = dispatch.invoke(card, [to_array(data, "float32")], None, golden.train)
    found = to_numpy(out)
    close(np.unique(found), np.unique(theirs), "float32", "values")
    share = (theirs == 0).mean()
    deviation = 6 * np.sqrt(share * (1 - share) / theirs.size)
    assert abs((found == 0).mean() - share) <= deviation
    np.testing.assert_array_equal(to_numpy(mask), found)
