"""Attributes in a graph have the texts that MXNet 1.9.1 gives them, which are the user's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ferromix as mx

S = mx.sym
X, Y = S.Variable("x"), S.Variable("y")

# What MXNet 1.9.1 has in list_attr() for each.
TEXTS = [
    (lambda: S.Convolution(X, kernel=[3, 3], num_filter=8), {"kernel": "[3, 3]"}),
    (lambda: S.Convolution(X, kernel="(3,3)", num_filter="8"), {"kernel": "(3,3)"}),
    (lambda: S.Convolution(X, kernel="(3L, 3L)", num_filter=8), {"kernel": "(3L, 3L)"}),
    (lambda: S.Convolution(X, kernel=3, num_filter=8), {"kernel": "3", "num_filter": "8"}),
    (lambda: S.Convolution(X, kernel=(3,), num_filter=8, stride=()), {"stride": "()"}),
    (lambda: S.Convolution(X, kernel=(np.int64(3), 3), num_filter=8), {"kernel": "(3, 3)"}),
    (lambda: S.Convolution(X, kernel=(3, 3), num_filter=8, no_bias=1), {"no_bias": "1"}),
    (lambda: S.Convolution(X, kernel=(3, 3), num_filter=8, no_bias="true"), {"no_bias": "true"}),
    (lambda: S.Convolution(X, kernel=(3, 3), num_filter=8, no_bias=False), {"no_bias": "False"}),
    (lambda: S.Convolution(X, kernel=(3, 3), num_filter=8, layout=None), {"layout": "None"}),
    (lambda: S.Dropout(X, p=0), {"p": "0"}),
    (lambda: S.Dropout(X, p="0.50"), {"p": "0.50"}),
    (lambda: S.Dropout(X, p="5e-1"), {"p": "5e-1"}),
    (lambda: S.Dropout(X, p=1e-7, axes=0), {"p": "1e-07", "axes": "0"}),
    (lambda: S.sum(X, axis=[0, 1], keepdims=1), {"axis": "[0, 1]", "keepdims": "1"}),
    (lambda: S.sum(X, axis=None), {"axis": "None"}),
    (lambda: S.Reshape(X, shape=-1), {"shape": "-1"}),
    (lambda: X.reshape(shape=[2, 3]), {"shape": "[2, 3]"}),
    (lambda: S.slice(X, begin=(None, 1), end=[None, 3]), {"begin": "(None, 1)"}),
    (lambda: S.slice(X, begin=(None, 1), end=[None, 3]), {"end": "[None, 3]"}),
    (lambda: S.clip(X, 0, 6.0), {"a_min": "0", "a_max": "6.0"}),
    (lambda: S.Cast(X, dtype=np.float16), {"dtype": "float16"}),
    (lambda: X + 1, {"scalar": "1"}),
    (lambda: X + 1.0, {"scalar": "1.0"}),
    (lambda: X * np.int64(3), {"scalar": "3"}),
    (lambda: 2**X, {"scalar": "2"}),
    (lambda: -X, {"scalar": "-1.0"}),
    (lambda: S.maximum(X, 0), {"scalar": "0"}),
    (lambda: S.zeros(3), {"shape": "3", "dtype": "float32"}),
    (lambda: S.full((2,), 2), {"shape": "(2,)", "value": "2.0"}),
    (lambda: S.arange(3), {"start": "3", "step": "1.0", "stop": "None"}),
    (lambda: S.split_v2(X, (1, 3), axis=1)[0], {"indices": "[0, 1, 3]", "sections": "0"}),
    (lambda: X.split_v2(2)[0], {"indices": "[]", "sections": "2"}),
    (lambda: S.contrib.MultiBoxPrior(X, sizes=0.5, ratios=(1, 2)), {"ratios": "(1, 2)"}),
    (lambda: S.contrib.MultiBoxPrior(X, ratios=(1.0, 2.0)), {"ratios": "(1.0, 2.0)"}),
    (lambda: S.contrib.MultiBoxPrior(X, sizes=0.5, ratios="(1,2,0.5)"), {"sizes": "0.5"}),
    (lambda: S.image.normalize(X, mean=(0.5, 0.5), std=0.1), {"std": "0.1"}),
]
# The same, where it is all that list_attr() has.
ALL_TEXTS = [
    (lambda: S.random.uniform(0, 1, shape=(2,)), {"low": "0", "high": "1", "shape": "(2,)"}),
    (lambda: S.random.normal(X, Y), {}),
    (lambda: S.random.randint(0, 5, shape=3), {"low": "0", "high": "5", "shape": "3"}),
    (lambda: S.random.multinomial(X)[0], {"dtype": "int32", "get_prob": "True"}),
]


@pytest.mark.parametrize(("make", "texts"), TEXTS)
def test_texts_are_those_that_were_given(make, texts):
    found = make().list_attr()
    assert {key: found[key] for key in texts} == texts


@pytest.mark.parametrize(("make", "texts"), ALL_TEXTS)
def test_what_was_not_given_has_no_text(make, texts):
    assert make().list_attr() == texts


def test_texts_stay_through_json():
    net = S.Convolution(X, kernel="[3,3]", num_filter=8, no_bias="1", name="c") * 2
    assert S.load_json(net.tojson()).tojson() == net.tojson()
    rows = {row["name"]: row.get("attrs") for row in json.loads(net.tojson())["nodes"]}
    assert rows["c"] == {"kernel": "[3,3]", "no_bias": "1", "num_filter": "8"}


def test_a_list_that_is_changed_later_keeps_its_text():
    axes = [0, 1]
    net = S.sum(X, axis=axes)
    axes.append(2)
    assert net.attr("axis") == "[0, 1]"


@pytest.mark.parametrize(
    ("given", "text"),
    [(8.0, "8"), ("8L", "8"), (np.float32(8), "8"), (True, "1")],
)
def test_what_mxnet_does_not_read_is_spelled_as_it_does(given, text):
    # MXNet 1.9.1 refuses each of these as num_hidden.
    assert S.FullyConnected(X, num_hidden=given).attr("num_hidden") == text


def test_other_kinds_that_mxnet_does_not_read():
    # MXNet 1.9.1 refuses a text of floats as a shape, and bools that are words or floats.
    net = S.Convolution(X, kernel=(3.0, 3.0), num_filter=8, no_bias=1.0)
    assert (net.attr("kernel"), net.attr("no_bias")) == ("(3, 3)", "True")
    assert S.Reshape(X, shape=np.array([2, 3])).attr("shape") == "(2, 3)"
    # A graph that is loaded computes with the same number; MXNet has "0.1" here.
    assert float((X * np.float32(0.1)).attr("scalar")) == float(np.float32(0.1))


def test_variables_that_are_made_show_the_attributes_of_their_operator():
    # MXNet 1.9.1 gives this attr_dict().
    with mx.AttrScope(__mood__="calm"):
        net = S.FullyConnected(X, num_hidden=10, name="fc", lr_mult=2)
    own = {"__mood__": "calm", "__lr_mult__": "2", "lr_mult": "2", "num_hidden": "10"}
    assert net.attr_dict() == {"fc": own, "fc_weight": own, "fc_bias": own}
    norm = S.BatchNorm(X, S.Variable("g"), fix_gamma=False, eps=1, name="bn").attr_dict()
    shown = {"eps": "1", "fix_gamma": "False"}
    assert norm == {
        "bn": shown,
        "bn_beta": shown,
        "bn_moving_mean": {"__init__": '["zero", {}]', **shown},
        "bn_moving_var": {"__init__": '["one", {}]', **shown},
    }


def test_variables_that_start_otherwise_say_so_unless_they_say_how():
    # MXNet 1.9.1 gives these, in graphs that are made before, too.
    mean, var = S.Variable("mm"), S.Variable("mv", init="zeros")
    S.BatchNorm(X, moving_mean=mean, moving_var=var)
    assert mean.list_attr() == {"__init__": '["zero", {}]'}
    assert var.list_attr() == {"__init__": "zeros"}
    gamma = S.Variable("g")
    S.LeakyReLU(X, gamma, act_type="prelu")
    assert gamma.list_attr() == {"__init__": '["Constant", {"value": 0.25}]'}
    computed = S.LeakyReLU(X, S.exp(X, name="e"), act_type="prelu", name="l")
    assert computed.attr_dict() == {"l": {"act_type": "prelu"}}


def test_copies_and_loaded_graphs_show_them_too():
    net = S.FullyConnected(X, num_hidden=10, name="fc")
    for again in (net.__copy__(), S.load_json(net.tojson()), net.get_internals()["fc_output"]):
        assert again.attr_dict() == net.attr_dict()
        assert again.attr_dict()["fc_weight"] == {"num_hidden": "10"}
    composed = net(x=S.Variable("z"))
    assert composed.attr_dict()["fc_weight"] == {"num_hidden": "10"}
