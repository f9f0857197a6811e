"""Initial values: their distributions, the rules by name, and the variables' own initializers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import ferromix as mx
from ferromix.error import InvalidArgumentError

BIG = (64, 32, 3, 3)


def drawn(initializer, shape=BIG, name="conv_weight", seed=0, dtype="float32"):
    mx.random.seed(seed)
    array = mx.nd.full(shape, 9, dtype=dtype)
    initializer(mx.init.InitDesc(name), array)
    return array.asnumpy()


def assert_uniform(values, bound):
    assert -bound <= values.min() < values.max() <= bound
    assert stats.kstest(values.ravel() / bound, stats.uniform(-1, 2).cdf).pvalue > 1e-3


def assert_normal(values, deviation):
    assert stats.kstest(values.ravel() / deviation, stats.norm.cdf).pvalue > 1e-3


def test_uniform_and_normal():
    assert_uniform(drawn(mx.init.Uniform()), 0.07)
    assert_uniform(drawn(mx.init.Uniform(2.0)), 2.0)
    assert_normal(drawn(mx.init.Normal()), 0.01)
    assert_normal(drawn(mx.init.Normal(3.0)), 3.0)


@pytest.mark.parametrize("shape", [(64, 128), BIG], ids=str)
@pytest.mark.parametrize(("kind", "factor"), [("in", 1.0), ("out", 0.0), ("avg", 0.5)])
@pytest.mark.parametrize("magnitude", [3, 2.24])
def test_xavier(shape, kind, factor, magnitude):
    kernel = math.prod(shape[2:])
    n = (factor * shape[1] + (1 - factor) * shape[0]) * kernel
    scale = math.sqrt(magnitude / n)
    assert_uniform(drawn(mx.init.Xavier("uniform", kind, magnitude), shape), scale)
    assert_normal(drawn(mx.init.Xavier("gaussian", kind, magnitude), shape), scale)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1)], ids=str)
def test_small_shapes(shape):
    for initializer in (mx.init.Xavier(), mx.init.Uniform(), mx.init.Normal(), mx.init.One()):
        assert drawn(initializer, shape).shape == shape


def test_the_seed_fixes_the_numbers():
    first = drawn(mx.init.Xavier(), seed=5)
    np.testing.assert_array_equal(first, drawn(mx.init.Xavier(), seed=5))
    assert (first != drawn(mx.init.Xavier(), seed=6)).mean() > 0.99


def test_constants():
    assert (drawn(mx.init.Zero()) == 0).all()
    assert (drawn(mx.init.One()) == 1).all()
    assert (drawn(mx.init.Constant(2.5)) == 2.5).all()
    table = [[1, 2], [3, 4]]
    for value in (table, np.array(table), mx.nd.array(table)):
        assert drawn(mx.init.Constant(value), (2, 2)).tolist() == table
    for row in ([1, 2], np.array([1, 2]), mx.nd.array([1, 2])):
        assert drawn(mx.init.Constant(row), (2, 2)).tolist() == [[1, 2], [1, 2]]


def old_way():
    """A name that is a plain string, of which MXNet 1.9.1 warns."""
    return pytest.warns(DeprecationWarning, match="InitDesc")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fc_weight", 5),
        ("fc_bias", 0),
        ("bn_gamma", 1),
        ("bn_beta", 0),
        ("bn_moving_mean", 0),
        ("bn_moving_var", 1),
        ("bn_running_mean", 0),
        ("bn_running_var", 1),
        ("bn_moving_inv_var", 0),
        ("x_min", 0),
        ("x_max", 1),
    ],
)
def test_rules_by_name(name, value):
    assert (drawn(mx.init.Constant(5), (2, 3), name) == value).all()
    plain = mx.nd.full((2, 3), 9)
    with old_way():
        mx.init.Constant(5)(name, plain)
    assert (plain.asnumpy() == value).all()


RULES = ("weight", "bias", "gamma", "beta", "zero", "one", "default")
RULE_OF = {
    **{rule: (rule, rule) for rule in RULES[:4]},
    **{"min": ("zero", "zero"), "max": ("one", "one"), "other": ("default", "default")},
    "parameters": ("default", "default"),
    "moving_mean": ("default", "zero"),
    "moving_avg": ("default", "zero"),
    "moving_inv_var": ("default", "zero"),
    "moving_var": ("default", "one"),
    "running_mean": ("default", "default"),
    "running_var": ("default", "default"),
}


class Asked(mx.init.Initializer):
    """Notes by which rule a parameter is set."""

    def __init__(self):
        super().__init__()
        self.by = []


for rule in RULES:
    setattr(Asked, f"_init_{rule}", lambda self, desc, arr, rule=rule: self.by.append(rule))


@pytest.mark.parametrize("ending", RULE_OF)
def test_which_rule_a_class_of_ones_own_is_asked_for(ending):
    init, array = Asked(), mx.nd.zeros(2)
    init(mx.init.InitDesc(f"bn_{ending}"), array)
    with old_way():
        init(f"bn_{ending}", array)
    assert tuple(init.by) == RULE_OF[ending]  # with attributes, and as a plain string


def test_one_rule_for_all_that_has_none():
    class Sevens(mx.init.Zero):
        def _init_default(self, desc, arr):
            arr[:] = 7

    for name, value in (("bn_moving_mean", 7), ("lstm_parameters", 7), ("fc_bias", 0)):
        assert (drawn(Sevens(), (2,), name) == value).all()


def test_a_name_without_a_rule():
    with pytest.raises(InvalidArgumentError, match=r"'foo' of shape \(2,\).*init=mx\.init\.Zero"):
        mx.init.Uniform()(mx.init.InitDesc("foo"), mx.nd.zeros((2,)))


def test_states_under_names_of_ones_own():
    net = mx.sym.BatchNorm(
        mx.sym.Variable("data"), moving_mean=mx.sym.Variable("a"), moving_var=mx.sym.Variable("b")
    )
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.Uniform())
    states = {name: array.asnumpy().tolist() for name, array in module.get_params()[1].items()}
    assert states == {"a": [0, 0, 0], "b": [1, 1, 1]}  # as MXNet 1.9.1 has them


def test_own_initializer_of_a_variable():
    net = mx.sym.Variable("steps", init=mx.init.Constant(3))
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc", bias=mx.sym.Variable("b", init="one"))
    attrs = net.attr_dict()
    assert json.loads(attrs["steps"]["__init__"]) == ["constant", {"value": 3}]
    for name, value in (("steps", 3), ("b", 1)):
        array = mx.nd.zeros((2, 2))
        mx.init.Uniform()(mx.init.InitDesc(name, attrs[name]), array)
        assert (array.asnumpy() == value).all()


def test_batch_norm_without_names_by_convention():
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn")
    attrs = net.attr_dict()
    for name, value in (("bn_moving_mean", 0), ("bn_moving_var", 1)):
        array = mx.nd.full((3,), 9)
        mx.init.Xavier()(mx.init.InitDesc(name, attrs.get(name)), array)
        assert (array.asnumpy() == value).all()


def test_dumps_and_create():
    for initializer, text in (
        (
            mx.init.Xavier(magnitude=2),
            '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 2}]',
        ),
        (mx.init.Normal(0.5), '["normal", {"sigma": 0.5}]'),
        (mx.init.Uniform(), '["uniform", {"scale": 0.07}]'),
        (mx.init.Zero(), '["zero", {}]'),
    ):
        assert initializer.dumps() == text
        assert mx.init.create(text) == initializer
        assert hash(mx.init.create(text)) == hash(initializer)
    assert mx.init.create("zeros") == mx.init.Zero()
    assert mx.init.create("Normal", sigma=2) == mx.init.Normal(2)
    assert mx.init.Normal(2) != mx.init.Normal(3)
    assert repr(mx.init.Normal(2)) == "Normal(sigma=2)"


def test_registration():
    @mx.init.register
    @mx.init.alias("eye")
    class Identity(mx.init.Initializer):
        def _init_weight(self, desc, arr):
            arr[:] = np.eye(*arr.shape)

    assert drawn(mx.init.create("eye"), (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert isinstance(mx.init.create("identity"), Identity)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: mx.init.create("xaver"), "unknown initializer 'xaver'; did you mean xavier"),
        (lambda: mx.init.create('["zero"]'), r'must read \["name", \{arguments\}\]'),
        (lambda: mx.init.create(3), "must be a name or a Initializer, got 3"),
        (lambda: mx.init.create(mx.init.Zero(), 3), "for creation by name only"),
        (lambda: mx.init.Xavier("beta"), "rnd_type must be one of .*'gaussian'.*got 'beta'"),
        (lambda: mx.init.Xavier(factor_type="x"), "factor_type must be one of"),
        (lambda: drawn(mx.init.Xavier(), (3,)), r"2 dimensions or more, but 'conv_weight'.*\(3,\)"),
        (lambda: drawn(mx.init.Constant([1, 2]), (3,)), r"shape \(2,\) does not fit.*\(3,\)"),
    ],
)
def test_errors(act, message):
    with pytest.raises(InvalidArgumentError, match=message):
        act()


def test_quantized_parameters_are_whole():
    weight, bias = mx.nd.zeros((50, 4), dtype="int8"), mx.nd.ones((4,), dtype="int8")
    mx.init.Xavier()(mx.init.InitDesc("fc_weight_quantize"), weight)
    mx.init.Xavier()(mx.init.InitDesc("fc_bias_quantize"), bias)
    found = weight.asnumpy()
    assert -127 <= found.min() < -50
    assert 50 < found.max() < 127
    np.testing.assert_array_equal(bias.asnumpy(), np.zeros(4))
