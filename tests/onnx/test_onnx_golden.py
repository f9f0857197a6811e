"""Models that MXNet and PyTorch wrote give what these computed.

The files are made by tools/golden/make_onnx.py and make_onnx_torch.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

pytest.importorskip("onnx", reason="models are read by onnx")

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "onnx"
MODELS = sorted(p.stem for p in FOLDER.glob("*.onnx"))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_others(name):
    path = str(FOLDER / f"{name}.onnx")
    net, args, auxs = mx.onnx.import_model(path)
    ((data, shape),) = mx.onnx.get_model_metadata(path)["input_tensor_data"]
    with np.load(FOLDER / f"{name}.npz") as golden:
        given, expected = golden["input"], [golden[f"output{i}"] for i in range(len(golden) - 1)]
    assert shape == given.shape
    bound = net.simple_bind(mx.cpu(), grad_req="null", **{data: shape})
    bound.copy_params_from(args, auxs)
    bound.arg_dict[data][:] = mx.nd.array(given)
    found = bound.forward(is_train=False)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-4, atol=1e-5)
