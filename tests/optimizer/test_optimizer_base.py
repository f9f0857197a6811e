"""Multipliers, counts, names and saved states."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, FileFormatError, InvalidArgumentError

NAMES = {0: "a_weight", 1: "a_bias", 2: "bn_gamma", 3: "bn_beta", 4: "x", 5: "xweight"}


OURS = [
    name
    for name, rule in sorted(mx.optimizer.Optimizer.opt_registry.items())
    if rule.__module__.startswith("ferromix.")
]


def small_net(**attrs):
    weight = mx.sym.Variable("fc_weight", **attrs)
    return mx.sym.FullyConnected(mx.sym.Variable("data"), weight=weight, num_hidden=3, name="fc")


def test_only_weights_and_gammas_decay():
    sgd = mx.optimizer.SGD(param_idx2name=NAMES, wd=0.1)
    assert sgd.wd_mult == {"a_bias": 0.0, "bn_beta": 0.0, "x": 0.0, "xweight": 0.0}
    assert [sgd._get_wd(i) for i in range(6)] == [0.1, 0.0, 0.1, 0.0, 0.0, 0.0]


def test_multipliers_of_the_symbol():
    net = small_net(lr_mult=2.0, wd_mult=3.0)
    names = {0: "fc_weight", 1: "fc_bias"}
    sgd = mx.optimizer.SGD(param_idx2name=names, sym=net, wd=0.5, learning_rate=0.25)
    assert sgd.lr_mult == {"fc_weight": 2.0}
    assert sgd.wd_mult == {"fc_bias": 0.0, "fc_weight": 3.0}
    assert [sgd._get_lr(i) for i in (0, 1)] == [0.5, 0.25]
    assert [sgd._get_wd(i) for i in (0, 1)] == [1.5, 0.0]


def test_multipliers_set_later_win_and_an_index_wins_over_a_name():
    sgd = mx.optimizer.SGD(param_idx2name=NAMES, learning_rate=1.0)
    sgd.set_lr_mult({"a_weight": 0.5, 1: 0.0})
    assert [sgd._get_lr(i) for i in (0, 1, 2, "a_weight")] == [0.5, 0.0, 1.0, 0.5]
    weight = mx.nd.ones((2,))
    sgd.update(1, weight, mx.nd.ones((2,)), None)
    assert weight.asnumpy().tolist() == [1, 1]


GIVEN = ({"learning_rate": 0.5}, {"wd": 0.5}, {"rescale_grad": 0.5}, {"clip_gradient": 0.25})


@pytest.mark.parametrize(
    ("name", "given"),
    # That one has no decay.
    [(n, g) for n in OURS for g in GIVEN if (n, *g) != ("groupadagrad", "wd")],
    ids=str,
)
def test_numbers_may_be_strings(name, given):
    found = []
    for kwargs in (given, {key: str(value) for key, value in given.items()}):
        mx.random.seed(1)
        weight = mx.nd.array([[1.0], [-2.0]])
        update = mx.optimizer.get_updater(mx.optimizer.create(name, **kwargs))
        for _ in range(2):
            update(0, mx.nd.array([[0.5], [-3.0]]), weight)
        found.append(weight.asnumpy().tolist())
    assert found[0] == found[1]
    assert np.all(found[0] != np.array([[1.0], [-2.0]]))


def test_rates_may_be_strings_and_must_be_numbers():
    sgd = mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(5), learning_rate="0.25")
    assert sgd.learning_rate == 0.25
    plain = mx.optimizer.SGD()
    plain.set_learning_rate("0.75")
    assert plain.learning_rate == 0.75
    with pytest.raises(InvalidArgumentError, match="wd must be a number, got 'much'"):
        mx.optimizer.NAG(wd="much")


def test_counts_of_updates_are_kept_per_parameter():
    sgd = mx.optimizer.SGD(begin_num_update=5)
    weight, grad = mx.nd.ones((1,)), mx.nd.ones((1,))
    for index in (0, 0, "w"):
        sgd.update(index, weight, grad, None)
    assert sgd.num_update == 7
    assert sgd._index_update_count == {0: 7, "w": 6}


def test_creation_by_name():
    assert isinstance(mx.optimizer.create("SGD"), mx.optimizer.SGD)
    assert mx.optimizer.create("adam").learning_rate == 0.001
    assert mx.optimizer.SGD().learning_rate == 0.01
    with pytest.raises(InvalidArgumentError, match="unknown optimizer 'adma'; did you mean adam"):
        mx.optimizer.create("adma")


def test_registration_of_a_new_rule():
    @mx.optimizer.register
    class SignDescent(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            self._update_count(index)
            weight -= self._get_lr(index) * mx.nd.sign(grad)

    updater = mx.optimizer.get_updater(mx.optimizer.create("signdescent", learning_rate=0.5))
    weight = mx.nd.zeros((3,))
    updater(0, mx.nd.array([-2, 0, 7]), weight)
    assert weight.asnumpy().tolist() == [0.5, 0, -0.5]


def test_the_rate_cannot_be_set_beside_a_schedule():
    sgd = mx.optimizer.SGD(learning_rate=0.1)
    sgd.set_learning_rate(0.5)
    assert sgd.learning_rate == 0.5
    sgd = mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(2))
    with pytest.raises(UserWarning, match="lr_scheduler"):
        sgd.set_learning_rate(0.5)
    with pytest.raises(DeprecationWarning, match="set_lr_mult"):
        sgd.set_lr_scale({})
    with pytest.raises(InvalidArgumentError, match="lr_scheduler"):
        sgd.set_learning_rate(0.5)


def test_unknown_arguments_and_missing_rules():
    with pytest.raises(TypeError, match="momentun"):
        mx.optimizer.SGD(momentun=0.9)
    with pytest.raises(NotImplementedError, match="Optimizer must override update"):
        mx.optimizer.Optimizer().update(0, mx.nd.ones((1,)), mx.nd.ones((1,)), None)


def test_half_precision_goes_through_a_float32_copy():
    sgd = mx.optimizer.SGD(learning_rate=1.0, multi_precision=True)
    updater = mx.optimizer.get_updater(sgd)
    weight = mx.nd.ones((2,), dtype="float16")
    tiny = mx.nd.full((2,), 2.0**-13, dtype="float16")
    for _ in range(16):  # each step is too small to show in float16 near 1
        updater(0, tiny, weight)
    assert weight.dtype == np.float16
    assert weight.asnumpy().tolist() == [1 - 2.0**-9] * 2


@pytest.mark.parametrize("dump_optimizer", [False, True])
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_training_goes_on_from_saved_states(name, dump_optimizer):
    options = {"momentum": 0.9} if name == "sgd" else {}

    def fresh():
        return mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))

    grads = [mx.nd.array([i + 1.0, -i]) for i in range(6)]
    whole, weight = fresh(), mx.nd.ones((2,))
    for grad in grads:
        whole("w", grad, weight)

    first, other = fresh(), mx.nd.ones((2,))
    for grad in grads[:3]:
        first("w", grad, other)
    second = fresh()
    second.set_states(first.get_states(dump_optimizer))
    for grad in grads[3:]:
        second("w", grad, other)
    assert other.asnumpy().tolist() == weight.asnumpy().tolist()


def test_an_updater_takes_lists():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0, momentum=0.9))
    weights = [mx.nd.zeros((2,)), mx.nd.zeros((3,))]
    updater([0, 1], [mx.nd.ones((2,)), mx.nd.ones((3,))], weights)
    assert [w.asnumpy().tolist() for w in weights] == [[-1, -1], [-1, -1, -1]]
    assert sorted(updater.states) == [0, 1]


def test_states_that_are_no_states():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())
    for junk in (b"", b"junk", b"\x80\x04]."):
        with pytest.raises(FileFormatError, match="not the saved states of an optimizer"):
            updater.set_states(junk)


def test_multipliers_of_parameters_come_first():
    class Weight:
        lr_mult, wd_mult = 0.5, 0.0

    sgd = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, param_dict={0: Weight()})
    sgd.set_lr_mult({0: 100.0})
    for index, expected in ((0, 1 - 0.5), (1, 1 - 1 - 1)):
        weight = mx.nd.ones(1)
        sgd.update(index, weight, mx.nd.ones(1), None)
        assert weight.asscalar() == expected


def test_optimizers_by_the_class_methods_of_mxnet():
    @mx.optimizer.Optimizer.register
    class Still(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            pass

    assert mx.optimizer.Optimizer.opt_registry["still"] is Still
    assert isinstance(mx.optimizer.Optimizer.create_optimizer("still"), Still)
    assert isinstance(mx.optimizer.create("ccsgd", momentum=0.5), mx.optimizer.SGD)


def test_states_move_between_devices():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    state = (mx.nd.ones(2), [mx.nd.ones(1), None])
    moved = updater.sync_state_context(state, mx.cpu(1))
    assert moved[0].context == moved[1][0].context == mx.cpu(1)
    assert moved[1][1] is None


def test_rules_of_ones_own_may_take_several_parameters_at_once():
    """As MXNet's updater hands them over: by type, in tuples as long as the rule asks for."""
    calls = []

    class Several(mx.optimizer.Optimizer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.aggregate_num = 2

        def create_state(self, index, weight):
            return index

        def update(self, index, weight, grad, state):
            self._update_count(index)
            calls.append((index, state, self._get_lrs(index), self._get_wds(index)))

    rule = Several(param_idx2name={0: "a_weight", 1: "a_bias"}, wd=0.5, learning_rate=2.0)
    updater = mx.optimizer.get_updater(rule)
    given = [mx.nd.ones(2), mx.nd.ones(2, dtype="float64"), mx.nd.ones(3), mx.nd.ones(3)]
    updater([0, 1, 2, 3], given, given)
    updater(0, given[0], given[0])
    assert calls == [
        ((0, 2), [0, 2], [2.0, 2.0], [0.5, 0.5]),
        ((3,), [3], [2.0], [0.5]),
        ((1,), [1], [2.0], [0.0]),
        ((0,), [0], [2.0], [0.5]),
    ]
    assert rule._index_update_count == {0: 2, 1: 1, 2: 1, 3: 1}


def test_each_device_counts_by_itself():
    rule = mx.optimizer.Adam()
    updaters = [mx.optimizer.get_updater(rule) for _ in range(2)]
    weights = [mx.nd.ones((2,), ctx=mx.cpu(i)) for i in range(2)]
    for _ in range(3):
        for updater, weight in zip(updaters, weights, strict=True):
            updater(0, mx.nd.ones((2,), ctx=weight.context), weight)
    assert rule._all_index_update_counts == {0: {0: 3}, 1: {0: 3}}
    assert weights[0].asnumpy().tolist() == weights[1].asnumpy().tolist()


@pytest.mark.parametrize("name", ["sgd", "nag", "lamb", "lars"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_several_parameters_in_one_update(name, dtype):
    one, all_ = (
        mx.optimizer.create(name, learning_rate=0.1, multi_precision=True) for _ in range(2)
    )
    weights = [[mx.nd.array([1, 2], dtype=dtype), mx.nd.ones((3,), dtype=dtype)] for _ in range(2)]
    states = [
        [rule.create_state_multi_precision(i, w) for i, w in enumerate(ws)]
        for rule, ws in zip((one, all_), weights, strict=True)
    ]
    for i in range(2):
        one.update_multi_precision(i, weights[0][i], weights[0][i] * 2, states[0][i])
    all_.update_multi_precision([0, 1], weights[1], [w * 2 for w in weights[1]], states[1])
    for w, v in zip(*weights, strict=True):
        assert w.asnumpy().tolist() == v.asnumpy().tolist()


@pytest.mark.parametrize("name", ["adam", "adamax", "ftml", "nadam"])
def test_what_counts_for_one_parameter_takes_no_list(name):
    weight = mx.nd.ones(2)
    optimizer = mx.optimizer.create(name)
    state = optimizer.create_state(0, weight)
    with pytest.raises(ArgumentTypeError, match=r"one parameter at a time, got \(2, 3\)"):
        optimizer.update((2, 3), weight, weight, state)
