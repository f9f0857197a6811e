"""Models cross between MXNet 1.9.1 and Ferromix with the same outputs, both ways.

The golden files hold models that MXNet saved with MXNet's outputs, and the same models as Ferromix
saved them with the outputs that MXNet computed after loading those (tools/golden/make_models.py).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "models"
MODELS = ["convnet", "mlp"]


def run(prefix: str, data: np.ndarray) -> np.ndarray:
    net, params, aux = mx.model.load_checkpoint(prefix, 1)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=data.shape)
    executor.copy_params_from(params, aux)
    return executor.forward(is_train=False, data=mx.nd.array(data))[0].asnumpy()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_mxnet_gives_the_outputs_of_mxnet(name):
    golden = np.load(GOLDEN / f"mxnet-{name}.npz")
    found = run(str(GOLDEN / f"mxnet-{name}"), golden["data"])
    np.testing.assert_allclose(found, golden["output"], atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_mxnet_gives_the_same_outputs_for_a_model_of_ferromix(name):
    golden = np.load(GOLDEN / f"ferromix-{name}.npz")
    found = run(str(GOLDEN / f"ferromix-{name}"), golden["data"])
    np.testing.assert_allclose(found, golden["mxnet_output"], atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_ferromix_still_saves_the_files_that_mxnet_was_shown(name, tmp_path):
    net, params, aux = mx.model.load_checkpoint(str(GOLDEN / f"ferromix-{name}"), 1)
    mx.model.save_checkpoint(str(tmp_path / "again"), 1, net, params, aux)
    for suffix in ("symbol.json", "0001.params"):
        again = (tmp_path / f"again-{suffix}").read_bytes()
        assert again == (GOLDEN / f"ferromix-{name}-{suffix}").read_bytes(), suffix
