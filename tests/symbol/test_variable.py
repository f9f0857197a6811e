"""What can be said about a variable."""

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError


@pytest.mark.parametrize(
    ("kwargs", "attrs"),
    [
        ({"lr_mult": 0}, {"__lr_mult__": "0"}),
        ({"lr_mult": 0.0}, {"__lr_mult__": "0.0"}),
        ({"lr_mult": "2"}, {"__lr_mult__": "2"}),
        ({"lr_mult": np.float32(0.5)}, {"__lr_mult__": "0.5"}),
        ({"wd_mult": 0}, {"__wd_mult__": "0"}),
        ({"init": mx.init.Constant(3)}, {"__init__": '["constant", {"value": 3}]'}),
        ({"init": "zeros"}, {"__init__": "zeros"}),
        ({"dtype": np.float64}, {"__dtype__": "1"}),
        ({"dtype": np.dtype("float16")}, {"__dtype__": "2"}),
        ({"dtype": "int32"}, {"__dtype__": "4"}),
        ({"shape": [2, 3]}, {"__shape__": "[2, 3]"}),
        ({"shape": 3}, {"__shape__": "3"}),
        ({"shape": np.array([2, 3])}, {"__shape__": "(2, 3)"}),
        ({"shape": (np.int64(2), 3)}, {"__shape__": "(2, 3)"}),
        ({"shape": "(2,3)"}, {"__shape__": "(2, 3)"}),
        ({"__mood__": 3, "__list__": [1, 2]}, {"__mood__": "3", "__list__": "[1, 2]"}),
    ],
)
def test_attributes_are_kept_as_mxnet_keeps_them(kwargs, attrs):
    found = S.Variable("x", **kwargs).list_attr()
    assert {key: value for key, value in found.items() if key.startswith("__")} == attrs


def test_attributes_of_operators_become_text():
    layer = S.FullyConnected(S.Variable("x"), num_hidden=2, __mood__=3, wd_mult=0)
    assert layer.attr("__mood__") == "3"
    assert layer.attr("wd_mult") == "0"


def test_a_factor_of_zero_keeps_a_parameter():
    net = S.FullyConnected(weight=S.Variable("w", lr_mult=0), num_hidden=1, name="fc")
    sgd = mx.optimizer.SGD(learning_rate=1.0, sym=net, param_idx2name={0: "w", 1: "fc_bias"})
    for index, expected in ((0, 1.0), (1, 0.0)):
        weight = mx.nd.ones((1,))
        sgd.update(index, weight, mx.nd.ones((1,)), None)
        assert weight.item() == expected


def test_a_factor_that_is_no_number_is_named():
    net = S.negative(S.Variable("w", lr_mult="fast"))
    with pytest.raises(InvalidArgumentError, match=r"__lr_mult__ of 'w'.*'fast'"):
        mx.optimizer.SGD(sym=net)


def test_names_are_kept_under_any_manager():
    with mx.name.Prefix("p_"):
        assert S.Variable("x").name == "x"
    assert S.Variable("").name == ""


def test_list_attr_recursive_is_refused_as_in_mxnet():
    with pytest.raises(DeprecationWarning, match="attr_dict") as found:
        S.Variable("x").list_attr(recursive=True)
    assert isinstance(found.value, mx.error.MXNetError)
