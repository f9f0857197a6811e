"""Initializers whose values follow from the shape, and those that choose among others."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError


def made(init, shape, name="fc_weight", dtype="float32"):
    mx.random.seed(7)
    array = mx.nd.full(shape, 9, dtype=dtype)
    init(mx.init.InitDesc(name), array)
    return array.asnumpy()


@pytest.mark.parametrize("rand_type", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(3, 8), (8, 3), (4, 4), (6, 2, 3, 1), (1, 5)])
def test_orthogonal_rows_or_columns(rand_type, shape):
    found = made(mx.init.Orthogonal(2.0, rand_type), shape, dtype="float64")
    matrix = found.reshape(shape[0], -1)
    products = matrix @ matrix.T if shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(products, 4 * np.eye(len(products)), atol=1e-9)
    again = made(mx.init.Orthogonal(2.0, rand_type), shape, dtype="float64")
    assert np.array_equal(found, again)


def test_msra_prelu_has_the_spread_for_its_slope():
    for factor, fan in (("in", 200), ("out", 300), ("avg", 250)):
        found = made(mx.init.MSRAPrelu(factor, 0.25), (300, 200))
        expected = np.sqrt(2 / (1 + 0.25**2) / fan)
        assert found.std() == pytest.approx(expected, rel=0.02)
        assert abs(found.mean()) < 0.01 * expected * 3
    assert mx.init.MSRAPrelu().dumps() == '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'
    assert mx.init.create("msraprelu", slope=0.0).magnitude == 2.0


def test_bilinear_weights_interpolate():
    side = [0.25, 0.75, 0.75, 0.25]
    assert np.array_equal(made(mx.init.Bilinear(), (2, 1, 4, 4))[1, 0], np.outer(side, side))
    found = made(mx.init.Bilinear(), (1, 1, 4, 3))[0, 0]
    assert np.array_equal(found, np.outer(side, side[:3]))
    with pytest.raises(InvalidArgumentError, match=r"4 dimensions.*'fc_weight'"):
        made(mx.init.Bilinear(), (4, 4))


def test_the_forget_gates_bias():
    own = {"__init__": mx.init.LSTMBias(2.0).dumps()}
    array = mx.nd.full((8,), 9)
    mx.init.Zero()(mx.init.InitDesc("lstm_bias", own), array)
    assert array.asnumpy().tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


def test_patterns_choose_in_their_order():
    init = mx.init.Mixed(
        ["fc1_.*", ".*bias", ".*"], [mx.init.One(), mx.init.Zero(), mx.init.Constant(5)]
    )
    assert made(init, (2,), "fc1_weight").tolist() == [1, 1]
    assert made(init, (2,), "fc2_bias").tolist() == [0, 0]
    assert made(init, (2,), "fc2_weight").tolist() == [5, 5]
    with pytest.raises(InvalidArgumentError, match="no pattern fits the parameter 'fc_weight'"):
        made(mx.init.Mixed(["x"], [mx.init.One()]), (1,))
    with pytest.raises(InvalidArgumentError, match="2 patterns for 1 initializers"):
        mx.init.Mixed(["x", "y"], [mx.init.One()])


def test_saved_arrays_come_back(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    path = tmp_path / "x.params"
    mx.nd.save(str(path), {"arg:fc_weight": mx.nd.array([1, 2]), "aux:mean": mx.nd.array([3])})
    init = mx.init.Load(str(path), mx.init.One(), verbose=True)
    assert made(init, (2,)).tolist() == [1, 2]
    assert made(init, (1,), "mean").tolist() == [3]
    assert made(init, (3,), "other_weight").tolist() == [1, 1, 1]
    assert [r.getMessage() for r in caplog.records][-1] == (
        "other_weight is set by the default initializer"
    )
    with pytest.raises(InvalidArgumentError, match=r"shape \(3,\), the saved one \(2,\)"):
        made(init, (3,))
    with pytest.raises(InvalidArgumentError, match="'x' was not saved"):
        made(mx.init.Load({}), (1,), "x")
    mx.nd.save(str(path), [mx.nd.ones(1)])
    with pytest.raises(FileFormatError, match="no arrays with names"):
        mx.init.Load(str(path))


def test_what_is_set_is_told(caplog):
    caplog.set_level(logging.INFO)
    made(mx.init.Constant(3).set_verbosity(True), (4,))
    made(mx.init.One().set_verbosity(True, lambda x: f"{x.size} ones"), (4,), "x_weight")
    made(mx.init.One().set_verbosity(False), (4,))
    assert [r.getMessage() for r in caplog.records] == [
        "fc_weight initialized: 3",
        "x_weight initialized: 4 ones",
    ]
