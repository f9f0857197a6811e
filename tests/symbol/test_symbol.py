"""Symbols: composition, attributes, outputs, inference, text."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from described import network

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError, MXNetError
from ferromix.name import NameManager, Prefix

S = mx.sym


@pytest.fixture(autouse=True)
def fresh_names():
    with NameManager():
        yield


def layer(name="fc", **attrs):
    return S.FullyConnected(S.Variable("data"), num_hidden=2, name=name, **attrs)


# -- making ----------------------------------------------------------------------------------------


def test_missing_inputs_become_variables():
    net = S.BatchNorm(layer(), name="bn")
    assert net.list_arguments() == ["data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"]
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert S.FullyConnected(num_hidden=2).list_arguments()[0] == "fullyconnected0_data"
    assert layer(no_bias=True).list_arguments() == ["data", "fc_weight"]


def test_inputs_by_position_by_name_and_attributes_by_position():
    a, b, c = map(S.Variable, "abc")
    assert S.FullyConnected(a, b, num_hidden=2, name="f").list_arguments() == ["a", "b", "f_bias"]
    assert S.FullyConnected(bias=c, data=a, num_hidden=2, name="f").list_arguments() == [
        "a",
        "f_weight",
        "c",
    ]
    assert S.clip(a, -1, 1).attr("a_min") == "-1"
    assert S.Concat(a, b, c, dim=0).attr("num_args") == "3"
    assert S.Concat(*[a, b]).list_arguments() == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "error", "parts"),
    [
        (lambda a: S.FullyConnected(a), InvalidArgumentError, ["num_hidden", "required"]),
        (lambda a: S.FullyConnected(a, num_hiden=2), InvalidArgumentError, ["num_hidden'?"]),
        (lambda a: S.FullyConnected(a, num_hidden=0), InvalidArgumentError, ["num_hidden", "0"]),
        (lambda a: S.FullyConnected(1, num_hidden=2), MXNetError, ["data", "int"]),
        (lambda a: S.FullyConnected(data=1, num_hidden=2), DTypeError, ["data", "int"]),
        (lambda a: S.FullyConnected(a, data=a, num_hidden=2), InvalidArgumentError, ["twice"]),
        (lambda a: S.FullyConnected(a, foo=a, num_hidden=2), InvalidArgumentError, ["'foo'"]),
        (lambda a: S.negative(S.Group([a, a])), InvalidArgumentError, ["one output", "'data'"]),
        (lambda a: S.softmax(a, attr={"mood": "x"}), InvalidArgumentError, ["'__mood__'"]),
        (lambda a: S.negative(a, attr="calm"), DTypeError, ["negative", "'calm'"]),
        (lambda a: S.negative(a, name=3), DTypeError, ["name", "3"]),
        (lambda a: S.Variable("x", attr={"__mood__": 1}), InvalidArgumentError, ["string", "1"]),
        (lambda a: S.Variable("x", attr="calm"), DTypeError, ["dict", "'calm'"]),
        (lambda a: S.Variable("x", init=3), DTypeError, ["init", "3"]),
        (lambda a: S.Variable("x", mood="x"), InvalidArgumentError, ["'__mood__'"]),
        (lambda a: S.Variable(1), DTypeError, ["name"]),
        (lambda a: S.Variable("x", shape="y"), InvalidArgumentError, ["'x'", "'y'"]),
        (lambda a: S.Variable("x", shape=(-3,)), InvalidArgumentError, ["'x'", "-3"]),
        (lambda a: S.Variable("x", shape=(2.5, 3)), InvalidArgumentError, ["'x'", "2.5"]),
        (lambda a: a.infer_shape(a=(2.0, 3)), InvalidArgumentError, ["'a'", "2.0"]),
        (lambda a: S.Variable("x", dtype="complex64"), InvalidArgumentError, ["complex64"]),
        (lambda a: S.Group([]), DTypeError, ["list of symbols"]),
        (lambda a: S.Group([a, 1]), DTypeError, ["list of symbols"]),
        (lambda a: a + "x", DTypeError, ["+", "str"]),
        (lambda a: bool(a), mx.error.NotImplementedForSymbol, ["truth", "only available in ND"]),
        (lambda a: S.maximum(1, "x"), InvalidArgumentError, ["maximum", "'x'"]),
    ],
)
def test_mistakes_are_explained(make, error, parts):
    with pytest.raises(error) as found:
        make(S.Variable("a"))
    for part in parts:
        assert part in str(found.value)


def _bound(**given):
    return layer().simple_bind(mx.cpu(), data=(2, 3)).forward(**given)


@pytest.mark.parametrize(
    ("mistake", "kind"),
    [  # What MXNet 1.9.1 raises is caught, too.
        (lambda: _bound(nope=mx.nd.ones((2, 3))), TypeError),
        (lambda: _bound(data=[[1.0, 2.0, 3.0]]), ValueError),
        (lambda: layer().infer_shape(data=(3.5, 4)), TypeError),
        (lambda: layer().infer_shape(data="ab"), TypeError),
        (lambda: layer().infer_type(data="foo"), TypeError),
        (lambda: layer()(S.Variable("a"), data=S.Variable("b")), TypeError),
        (lambda: layer().bind(mx.cpu(), None), TypeError),
        (lambda: mx.nd.array("a"), TypeError),
        (lambda: mx.nd.ones((2,), dtype="foo"), TypeError),
    ],
)
def test_errors_are_of_the_kinds_that_scripts_catch(mistake, kind):
    with pytest.raises(kind) as found:
        mistake()
    assert isinstance(found.value, TypeError)
    assert isinstance(found.value, ValueError)
    assert isinstance(found.value, MXNetError)


def test_unknown_operators_are_attribute_errors():
    with pytest.raises(AttributeError, match="FullyConected"):
        S.FullyConected  # noqa: B018
    with pytest.raises(AttributeError, match="nope"):
        S.Variable("x").nope  # noqa: B018


def test_functions_have_signatures_and_documentation():
    found = inspect.signature(S.Convolution)
    assert list(found.parameters)[:4] == ["data", "weight", "bias", "kernel"]
    assert found.parameters["num_group"].default == 1
    assert "num_filter" in S.Convolution.__doc__
    assert S.Convolution.__name__ == "Convolution"
    assert "Convolution" in dir(S)
    assert "sum" in dir(S.Variable("x"))
    assert S.Convolution is S.Convolution
    assert S._internal._plus_scalar(S.Variable("x"), scalar=1).attr("scalar") == "1"


def test_methods_are_operators():
    x = S.Variable("x")
    assert x.sum(axis=1).infer_shape(x=(2, 3))[1] == [(2,)]
    assert x.reshape(3, 2).infer_shape(x=(2, 3))[1] == [(3, 2)]
    assert x.reshape((3, 2)).infer_shape(x=(2, 3))[1] == [(3, 2)]
    assert x.transpose(1, 0).T.flatten().infer_shape(x=(2, 3))[1] == [(2, 3)]
    assert x.astype("int32").infer_type(x="float32")[1] == [np.int32]
    assert x.abs().exp().entries[0].node.op.name == "exp"


def test_arithmetic_with_numpy_scalars_keeps_the_symbol_in_charge():
    x = S.Variable("x")
    for made in (x * np.float32(0.5), np.float32(0.5) * x, np.int64(2) + x):
        assert isinstance(made, S.Symbol)
    assert (x * np.float64(0.5)).attr("scalar") == "0.5"


def test_symbols_are_compared_by_identity_where_no_number_is_meant():
    a, b = S.Variable("a"), S.Variable("b")
    assert {a: 1, b: 2}[a] == 1
    assert a is not None
    assert (a == None) is False  # noqa: E711
    assert isinstance(a == b, S.Symbol)


# -- names -----------------------------------------------------------------------------------------


def test_automatic_names_count_by_operator():
    x = S.Variable("x")
    names = [S.negative(x).name, S.negative(x).name, (x + x).name, (x + 1).name, S.exp(x).name]
    assert names == ["negative0", "negative1", "_plus0", "_plusscalar0", "exp0"]


def test_prefixes_nest_and_end():
    with Prefix("a_"):
        assert layer().list_arguments() == ["data", "a_fc_weight", "a_fc_bias"]
        with Prefix("b_"):
            assert S.exp(S.Variable("x")).name == "b_exp0"
        assert S.exp(S.Variable("x")).name == "a_exp0"
    assert S.exp(S.Variable("x")).name == "exp0"


def test_threads_have_names_of_their_own():
    S.exp(S.Variable("x"))
    found = []
    thread = threading.Thread(target=lambda: found.append(S.exp(S.Variable("x")).name))
    thread.start()
    thread.join()
    assert found == ["exp0"]
    assert S.exp(S.Variable("x")).name == "exp1"


# -- attributes ------------------------------------------------------------------------------------


def test_attributes_of_variables():
    x = S.Variable("x", shape=(2, 0), lr_mult=2, wd_mult=0.5, dtype="float16", __mood__="calm")
    assert x.attr("lr_mult") == x.attr("__lr_mult__") == "2"
    assert x.list_attr() == {
        "__shape__": "(2, 0)",
        "__lr_mult__": "2",
        "lr_mult": "2",
        "__wd_mult__": "0.5",
        "wd_mult": "0.5",
        "__dtype__": "2",
        "__mood__": "calm",
    }
    assert x.attr("nope") is None
    assert S.Variable("y", attr={"anything": "goes"}).attr("anything") == "goes"


def test_scopes_give_attributes_to_nodes_and_to_the_variables_made_for_them():
    with mx.AttrScope(ctx_group="a", __b__="1"), mx.AttrScope(__b__="2"):
        net = layer(attr={"__c__": "3"})
    attrs = net.attr_dict()
    for name in ("fc", "fc_weight"):
        assert {attrs[name][k] for k in ("ctx_group", "__b__", "__c__")} == {"a", "2", "3"}
    assert "ctx_group" not in S.Variable("x").list_attr()
    with pytest.raises(InvalidArgumentError, match="string"):
        mx.AttrScope(x=1)


def test_setting_attributes():
    net = layer(lr_mult="0.1")
    net._set_attr(wd_mult="3")
    assert net.attr("__wd_mult__") == "3"
    assert net.attr("lr_mult") == "0.1"
    with pytest.raises(InvalidArgumentError, match="underscores"):
        net._set_attr(mood="x")
    with pytest.raises(InvalidArgumentError, match="group"):
        S.Group([net, S.Variable("x")])._set_attr(wd_mult="3")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: S.sin(x, attr={"mood": "calm"}),
        lambda x: S.BlockGrad(x, attr={"mood": "calm"}),
        lambda x: x + x,
        lambda x: S.Flatten(x),
        lambda x: S.linalg.det(x),
        lambda x: S.where(x, x, x),
    ],
)
def test_operators_without_parameters_take_attributes_of_any_name(make):
    with mx.AttrScope(mood="calm"):
        made = make(S.Variable("x"))
    assert made.list_attr() == {"mood": "calm"}
    made._set_attr(mood="wild", scalar="2")
    again = S.load_json(made.tojson())
    assert again.list_attr() == {"mood": "wild", "scalar": "2"}
    assert again.tojson() == made.tojson()


def test_operators_with_parameters_take_none_that_look_like_theirs():
    x = S.Variable("x")
    for make in (lambda: x + 1, lambda: S.dot(x, x), lambda: S.add_n(x, x)):
        with mx.AttrScope(mood="calm"), pytest.raises(InvalidArgumentError, match="__mood__"):
            make()
    with pytest.raises(InvalidArgumentError, match="unknown attribute 'mood'"):
        S.sin(x, mood="calm")


# -- outputs and composition -----------------------------------------------------------------------


def test_an_output_that_is_alone_has_a_number_in_splits_only():  # As MXNet 1.9.1 says.
    x, y = S.Variable("x"), S.Variable("y")
    assert S.split(x, num_outputs=1, name="n").list_outputs() == ["n_output0"]
    assert S._internal._split_v2(x, sections=1, indices=(), name="n").list_outputs() == ["n_output"]
    assert S.amp_multicast(x, num_outputs=1, name="n").list_outputs() == ["n_output"]
    step = S.multi_sgd_update(x, y, lrs=(1,), wds=(1,), num_weights=1, name="n")
    assert step.list_outputs() == ["n_output"]
    both = S.amp_multicast(x, y, num_outputs=2, name="n")
    assert both.list_outputs() == ["n_output0", "n_output1"]


def test_groups_and_indexing():
    a, b = S.exp(S.Variable("x"), name="a"), S.log(S.Variable("y"), name="b")
    group = S.Group([a, S.Group([b, a])])
    assert group.list_outputs() == ["a_output", "b_output", "a_output"]
    assert [s.name for s in group] == ["a", "b", "a"]
    assert group.name is None
    assert group[1].name == group["b_output"].name == "b"
    assert len(group[:2]) == 2
    assert repr(group) == "<Symbol group [a, b, a]>"
    with pytest.raises(InvalidArgumentError, match="2 outputs"):
        group["a_output"]
    with pytest.raises(InvalidArgumentError, match="a_output, b_output"):
        group["c_output"]
    with pytest.raises(IndexError):
        group[3]


def test_internals_and_children():
    net = S.BatchNorm(layer(), name="bn")
    internals = net.get_internals()
    assert internals.list_outputs()[:4] == ["data", "fc_weight", "fc_bias", "fc_output"]
    assert internals["fc_output"].list_arguments() == ["data", "fc_weight", "fc_bias"]
    children = net.get_children()
    assert children.list_outputs()[0] == "fc_output"
    assert S.Variable("x").get_children() is None


def test_composition_leaves_the_original_and_shares_the_variables_that_stay():
    first = layer()
    second = first(data=first, name="again")
    assert second.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert second.name == "again"
    assert first.name == "fc"
    assert first.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert first(S.Variable("z")).list_arguments() == ["z", "fc_weight", "fc_bias"]
    assert first(fc_bias=S.exp(S.Variable("q"))).list_arguments() == ["data", "fc_weight", "q"]


def test_composition_replaces_all_uses():
    x = S.Variable("x")
    net = (x + S.exp(x))(x=S.Variable("y") * 2)
    assert net.list_arguments() == ["y"]


def test_mistakes_in_composition():
    with pytest.raises(InvalidArgumentError, match=r"'foo'.*data, fc_weight"):
        layer()(foo=S.Variable("x"))
    with pytest.raises(InvalidArgumentError, match="by position"):
        layer()(S.Variable("x"), data=S.Variable("y"))
    with pytest.raises(DTypeError, match="data"):
        layer()(data=3)


def test_copies_are_independent():
    net = layer(lr_mult="1")
    for twin in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.tojson() == net.tojson()
        twin._set_attr(lr_mult="2")
        assert net.attr("lr_mult") == "1"


# -- inference -------------------------------------------------------------------------------------


def test_incomplete_shapes_warn_and_give_none():
    with pytest.warns(UserWarning, match="data"):
        assert layer().infer_shape(data=(0, 3)) == (None, None, None)
    assert layer().infer_shape_partial(data=(0, 3)) == ([(0, 3), (2, 3), (2,)], [(0, 2)], [])
    assert layer().infer_shape_partial()[0][0] == ()
    with pytest.warns(UserWarning, match="types"):
        assert layer().infer_type() == (None, None, None)
    assert layer().infer_type_partial() == ([None] * 3, [None], [])


def test_shapes_by_position_and_declared():
    assert layer().infer_shape((4, 3)) == ([(4, 3), (2, 3), (2,)], [(4, 2)], [])
    x = S.Variable("x", shape=(0, 5)) + S.Variable("y", shape=(2, 0))
    assert x.infer_shape() == ([(2, 5), (2, 5)], [(2, 5)], [])
    assert x.infer_shape(x=(2, 5), y=(2, 5))[1] == [(2, 5)]


def test_types_by_name_and_declared():
    assert layer().infer_type(data="float64")[0] == [np.float64] * 3
    assert S.exp(S.Variable("x", dtype="float16")).infer_type()[1] == [np.float16]
    assert layer().infer_type(np.float64)[1] == [np.float64]


def test_mistakes_in_inference():
    with pytest.raises(InvalidArgumentError) as error:
        layer().infer_shape(data=(4, 3), fc_weight=(3, 3))
    for part in ("node 'fc'", "FullyConnected", "'weight'", "(3, 3)", "(2, 3)"):
        assert part in str(error.value)
    with pytest.raises(InvalidArgumentError, match=r"'foo'.*data, fc_weight"):
        layer().infer_shape(foo=(1,))
    with pytest.raises(InvalidArgumentError, match="not both"):
        layer().infer_shape((4, 3), fc_bias=(2,))
    with pytest.raises(InvalidArgumentError, match="3 arguments"):
        layer().infer_shape((4, 3), None, None, None)
    with pytest.raises(InvalidArgumentError, match=r"'__shape__'|'x'"):
        S.Variable("x", __shape__="import os").infer_shape()
    with pytest.raises(InvalidArgumentError, match=r"'x'.*float32.*'99'"):
        S.Variable("x", __dtype__="99").infer_type()


# -- text ------------------------------------------------------------------------------------------


def test_json_has_the_form_of_mxnet_1_9():
    graph = json.loads(S.BatchNorm(layer(), name="bn", eps=1e-5).tojson())
    assert set(graph) == {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"}
    assert graph["attrs"] == {"mxnet_version": ["int", 10901]}
    assert graph["arg_nodes"] == [0, 1, 2, 4, 5, 6, 7]
    assert graph["node_row_ptr"] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11]
    assert graph["nodes"][-1] == {
        "op": "BatchNorm",
        "name": "bn",
        "attrs": {"eps": "1e-05"},
        "inputs": [[3, 0, 0], [4, 0, 0], [5, 0, 0], [6, 0, 1], [7, 0, 1]],
    }


def test_names_and_attributes_survive_any_text():
    name = 'quote " slash \\ newline \n snow ☃'
    x = S.Variable(name, attr={"__note__": name})
    again = S.load_json((x + 1).tojson())
    assert again.list_arguments() == [name]
    assert again.attr_dict()[name]["__note__"] == name


def test_saving_replaces_a_file_as_a_whole(tmp_path):
    path = tmp_path / "net.json"
    path.write_text("old")
    layer().save(path)
    assert S.load(str(path)).list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert [p.name for p in tmp_path.iterdir()] == ["net.json"]
    with pytest.raises(FileNotFoundError):
        S.load(tmp_path / "missing.json")


def test_debug_str_lists_nodes():
    text = layer(lr_mult="2").debug_str()
    for part in ("output[0]=fc(0)", "Variable:data", "Op:FullyConnected, Name=fc", "num_hidden=2"):
        assert part in text


def test_debug_str_is_in_the_format_of_mxnet():
    golden = Path(__file__).resolve().parents[1] / "golden" / "described"
    net = network(mx)
    assert net.debug_str() == (golden / "symbol.txt").read_text()
    found = net.simple_bind(mx.cpu(), data=(2, 3)).debug_str().splitlines()
    expected = (golden / "executor.txt").read_text().splitlines()
    # The operators of the backward pass are our own.
    first = expected.index("Op:SoftmaxOutput, Name=softmax") + 4
    assert found[:7] == expected[:7]
    assert found[8:first] == expected[8:first]
    assert found[-2] == expected[-2] == "Total 0 MB allocated"
    names = [line for line in expected if line.startswith("\tcdep")]
    assert [line for line in found if line.startswith("\tcdep")] == names
    # Of its attributes, too, only those that somebody gave are listed.
    shown = ("\targ", "\tcdep", "\toutput")
    ours, theirs = (
        {line for line in lines[first:] if line.startswith("\t") and not line.startswith(shown)}
        for lines in (found, expected)
    )
    # The gradient of SliceChannel is a Concat here.
    assert ours ^ theirs == {"\tnum_args=2", "\tdim=1", "\tnum_outputs=2"}


def test_inplace_changes_nothing():
    x = S.Variable("x", shape=(2, 1, 3))
    for made, shape in (
        (x.expand_dims(0, inplace=True), (1, 2, 1, 3)),
        (x.squeeze(axis=1, inplace=True), (2, 3)),
        (x.flatten(inplace=True), (2, 3)),
    ):
        assert made.infer_shape()[1] == [shape]
        assert "inplace" not in made.list_attr()


def test_operators_without_attributes_keep_those_of_any_name():
    x, y = S.Variable("x"), S.Variable("y")
    for made in (
        S.sin(x, name="s", attr={"a": "1"}),
        S.elemwise_add(x, y, name="s", attr={"a": "1"}),
        S.where(x, x, y, name="s", attr={"a": "1"}),
    ):
        for symbol in (made, S.load_json(made.tojson())):
            assert symbol.attr_dict()["s"] == {"a": "1"}
            assert symbol.attr("a") == "1"
    with mx.AttrScope(a="1"):
        assert (x + y).attr("a") == "1"
        with pytest.raises(InvalidArgumentError, match="'__a__'"):
            S.sum(x)


def test_one_part_has_a_number():
    part = S.SliceChannel(S.Variable("x"), num_outputs=1, name="p")
    assert part.list_outputs() == ["p_output0"]
    assert part.get_internals().list_outputs() == ["x", "p_output0"]
    assert S.load_json(part.tojson())["p_output0"].name == "p"


@pytest.mark.parametrize("none", [None, "None"])
def test_none_stands_for_what_tuples_are_by_default(none):
    x, values = S.Variable("x"), mx.nd.array(np.arange(12).reshape(3, 2, 2))
    for made, usual in (
        (S.transpose(x, axes=none), S.transpose(x)),
        (S.Dropout(x, axes=none), S.Dropout(x)),
        (S.broadcast_axis(x, axis=none, size=none), S.broadcast_axis(x)),
    ):
        found, wanted = (s.eval(x=values)[0].asnumpy() for s in (made, usual))
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(InvalidArgumentError, match=r"'reps' must be a tuple .*, got None"):
        S.tile(x, reps=None)
