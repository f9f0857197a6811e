"""Symbols made from symbols: gradients, without casts of mixed precision, for backends."""

from __future__ import annotations

import json
import logging
import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError

# -- gradients -------------------------------------------------------------------------------------


def test_gradients_are_those_of_an_executor():
    data = S.Variable("data")
    net = S.Group(
        [
            S.tanh(S.FullyConnected(data, num_hidden=3, name="fc")),
            S.khatri_rao(data, S.Variable("other"), name="kr"),
        ]
    )
    shapes = {"data": (4, 5), "other": (2, 5)}
    rng = np.random.default_rng(0)
    executor = net.simple_bind(mx.cpu(), **shapes)
    for array in executor.arg_dict.values():
        array[:] = rng.standard_normal(array.shape)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
    names = ["fc_weight", "data", "other"]
    gradient = net.gradient(names)
    assert sorted(gradient.list_arguments()) == sorted(net.list_arguments())
    bound = gradient.bind(mx.cpu(), executor.arg_dict)
    for name, found in zip(names, bound.forward(), strict=True):
        np.testing.assert_allclose(
            found.asnumpy(), executor.grad_dict[name].asnumpy(), rtol=1e-5, atol=1e-6
        )


def test_gradients_can_be_differentiated():
    x = S.Variable("x")
    second = (x**3).gradient(["x"]).gradient(["x"])
    assert second.eval(x=mx.nd.array([2, -1]))[0].asnumpy().tolist() == [12, -6]


def test_gradients_of_what_does_not_matter_are_zeros_and_of_itself_ones():
    x, y = S.Variable("x"), S.Variable("y")
    net = S.Group([x, S.BlockGrad(y)])
    found = net.gradient(["y", "x"]).eval(x=mx.nd.array([3]), y=mx.nd.array([4, 5]))
    assert [f.asnumpy().tolist() for f in found] == [[0, 0], [1]]


def test_gradients_of_unknown_variables_are_refused():
    with pytest.raises(InvalidArgumentError, match="no variable 'z'; variables: x"):
        (S.Variable("x") + 1).gradient(["z"])
    with pytest.raises(TypeError, match="list of names"):
        (S.Variable("x") + 1).gradient("x")


# -- casts of mixed precision ----------------------------------------------------------------------


def mixed():
    x = S.Variable("x")
    cast = S.amp_cast(x, dtype="float16", name="ac")
    both = S.amp_multicast(x, S.exp(cast, name="e"), num_outputs=2, name="am")
    return S.Group([S.elemwise_add(both[0], both[1], name="plus"), cast])


def nodes(text):
    graph = json.loads(text)
    found = [(n["op"], n["name"], n["inputs"]) for n in graph["nodes"]]
    return found, graph["heads"]


def test_saved_graphs_have_no_casts_but_for_outputs(tmp_path):
    # As MXNet 1.9.1 writes it.
    net = mixed()
    expected = [
        ("null", "x", []),
        ("exp", "e", [[0, 0, 0]]),
        ("elemwise_add", "plus", [[0, 0, 0], [1, 0, 0]]),
        ("amp_cast", "ac", [[0, 0, 0]]),
    ]
    assert nodes(net.tojson()) == (expected, [[2, 0, 0], [3, 0, 0]])
    net.save(tmp_path / "net.json")
    assert (tmp_path / "net.json").read_text() == net.tojson()
    mx.model.save_checkpoint(tmp_path / "p", 0, net, {}, {})
    assert (tmp_path / "p-symbol.json").read_text() == net.tojson()


def test_casts_stay_where_they_are_asked_for(tmp_path):
    net = mixed()
    expected = [
        ("null", "x", []),
        ("amp_cast", "ac", [[0, 0, 0]]),
        ("exp", "e", [[1, 0, 0]]),
        ("amp_multicast", "am", [[0, 0, 0], [2, 0, 0]]),
        ("elemwise_add", "plus", [[3, 0, 0], [3, 1, 0]]),
    ]
    whole = net.tojson(remove_amp_cast=False)
    assert nodes(whole) == (expected, [[4, 0, 0], [1, 0, 0]])
    net.save(tmp_path / "net.json", remove_amp_cast=False)
    assert (tmp_path / "net.json").read_text() == whole
    mx.model.save_checkpoint(tmp_path / "p", 0, net, {}, {}, remove_amp_cast=False)
    assert (tmp_path / "p-symbol.json").read_text() == whole
    assert pickle.loads(pickle.dumps(net)).tojson(remove_amp_cast=False) == whole


# -- backends and groups ---------------------------------------------------------------------------


def test_backends_have_nothing_to_join(caplog):
    net = S.exp(S.Variable("x"), name="e")
    assert net.get_backend_symbol("MKLDNN").tojson() == net.tojson()
    with pytest.raises(InvalidArgumentError, match="unknown backend 'nope'"):
        net.get_backend_symbol("nope")
    assert net.optimize_for("MKLDNN", args={}, type_dict={"x": "float32"}).tojson() == net.tojson()
    assert not caplog.messages
    with caplog.at_level(logging.ERROR):
        assert net.optimize_for("nope").tojson() == net.tojson()
    assert "unknown backend 'nope'" in caplog.text


def test_a_group_may_be_made_by_another_class():
    class Own(mx.sym.Symbol):
        __slots__ = ()

    x = S.Variable("x")
    made = mx.sym.Group([x, x + 1], create_fn=Own)
    assert type(made) is Own
    assert made.list_outputs() == mx.sym.Group([x, made[1]]).list_outputs()
