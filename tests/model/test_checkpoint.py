"""Checkpoints: what was saved comes back, and what is no checkpoint is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError


def network():
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    x = mx.sym.BatchNorm(x, name="bn")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def test_round_trip_gives_the_same_outputs(tmp_path):
    prefix = tmp_path / "net"
    data = mx.nd.array(np.random.default_rng(0).normal(size=(4, 5)))
    executor = network().simple_bind(mx.cpu(), data=(4, 5))
    mx.random.seed(0)
    for name, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        if name not in ("data", "softmax_label"):
            mx.init.Xavier()(mx.init.InitDesc(name), array)
    expected = executor.forward(is_train=False, data=data)[0].asnumpy()
    weights = {n: executor.arg_dict[n] for n in ("fc_weight", "fc_bias", "bn_gamma", "bn_beta")}
    mx.model.save_checkpoint(prefix, 7, network(), weights, executor.aux_dict)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0007.params", "net-symbol.json"]
    assert set(mx.nd.load(tmp_path / "net-0007.params")) == {
        *(f"arg:{name}" for name in weights),
        "aux:bn_moving_mean",
        "aux:bn_moving_var",
    }

    symbol, arg_params, aux_params = mx.model.load_checkpoint(str(prefix), 7)
    again = symbol.simple_bind(mx.cpu(), grad_req="null", data=(4, 5))
    again.copy_params_from(arg_params, aux_params)
    found = again.forward(is_train=False, data=data)[0].asnumpy()
    np.testing.assert_array_equal(found, expected)


def test_parameters_without_a_symbol(tmp_path):
    mx.model.save_checkpoint(tmp_path / "p", 0, None, {"w": mx.nd.ones((2,))}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["p-0000.params"]
    args, aux = mx.model.load_params(tmp_path / "p", 0)
    assert args["w"].asnumpy().tolist() == [1, 1]
    assert aux == {}


def test_no_parameters(tmp_path):
    mx.model.save_checkpoint(tmp_path / "p", 0, None, {}, {})
    assert mx.model.load_params(tmp_path / "p", 0) == ({}, {})


def test_files_that_are_no_checkpoints(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"p-0003\.params"):
        mx.model.load_params(tmp_path / "p", 3)
    mx.nd.save(tmp_path / "p-0003.params", {"w": mx.nd.ones((2,))})
    with pytest.raises(FileFormatError, match="begin with 'arg:' or 'aux:', found 'w'"):
        mx.model.load_params(tmp_path / "p", 3)
    mx.nd.save(tmp_path / "p-0003.params", [mx.nd.ones((2,))])
    with pytest.raises(FileFormatError, match="no names"):
        mx.model.load_params(tmp_path / "p", 3)


def test_arrays_of_another_kind_are_passed_over(tmp_path, caplog):
    named = {"arg:w": mx.nd.ones(2), "aux:m": mx.nd.zeros(2), "ema:w": mx.nd.ones(2)}
    mx.nd.save(str(tmp_path / "net-0004.params"), named)
    args, auxs = mx.model.load_params(tmp_path / "net", 4)
    assert (list(args), list(auxs)) == (["w"], ["m"])
    assert "passed over 'ema:w'" in caplog.text
