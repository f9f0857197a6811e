"""What holds for every optimizer, and rules of which MXNet 1.9.1 gives no numbers."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

RULES = [
    ("sgd", {"momentum": 0.9}),
    ("adam", {}),
    ("nag", {"momentum": 0.9}),
    ("nag", {}),
    ("signum", {"wd_lh": 0.1}),
    ("signum", {"momentum": 0.0}),
    ("ftml", {}),
    ("ftrl", {}),
    ("rmsprop", {}),
    ("rmsprop", {"centered": True}),
    ("lamb", {}),
    ("lars", {"momentum": 0.9, "eta": 0.5}),
    ("lbsgd", {"momentum": 0.9, "batch_scale": 2}),
    ("lbsgd", {"batch_scale": 2, "warmup_strategy": "lars"}),
    ("adagrad", {}),
    ("adadelta", {}),
    ("adamax", {}),
    ("nadam", {}),
    ("dcasgd", {"momentum": 0.9}),
    ("test", {}),
]
COMMON = {"learning_rate": 0.1, "wd": 0.05, "rescale_grad": 0.5, "clip_gradient": 0.4}
IDS = [f"{name}-{options}" for name, options in RULES]


def updater(name, options, **more):
    return mx.optimizer.get_updater(mx.optimizer.create(name, **{**COMMON, **options, **more}))


def gradients(steps, shape=(3, 2), dtype="float32"):
    random = np.random.default_rng(5)
    return [mx.nd.array(random.normal(size=shape), dtype=dtype) for _ in range(steps)]


def start(dtype="float32"):
    return mx.nd.array(np.linspace(-2, 3, 6).reshape(3, 2), dtype=dtype)


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_the_gradient_stays_as_it_was(name, options):
    rule, weight = updater(name, options), start()
    for grad in gradients(3):
        before = grad.asnumpy()
        rule(0, grad, weight)
        np.testing.assert_array_equal(grad.asnumpy(), before)
    assert np.isfinite(weight.asnumpy()).all()


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_a_gradient_array_that_is_used_again(name, options):
    one, other = updater(name, options), updater(name, options)
    first, second = start(), start()
    reused = mx.nd.zeros((3, 2))
    for grad in gradients(4):
        one(0, grad, first)
        grad.copyto(reused)
        other(0, reused, second)
    assert first.asnumpy().tobytes() == second.asnumpy().tobytes()


@pytest.mark.parametrize("dump_optimizer", [False, True])
@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_training_goes_on_from_saved_states(name, options, dump_optimizer):
    def fresh():
        return updater(name, options, lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5))

    whole, expected = fresh(), start()
    grads = gradients(7)
    for grad in grads:
        whole(0, grad, expected)
    first, weight = fresh(), start()
    for grad in grads[:3]:
        first(0, grad, weight)
    second = fresh()
    second.set_states(first.get_states(dump_optimizer))
    for grad in grads[3:]:
        second(0, grad, weight)
    assert weight.asnumpy().tobytes() == expected.asnumpy().tobytes()
    assert second.optimizer.num_update == whole.optimizer.num_update


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "options"), [r for r in RULES if r[0] != "lars"])
def test_half_precision_follows_single(name, options, dtype):
    """The copy of the weight takes the very steps of training in float32.

    Not that of LARS, whose rate comes from the norm of the weight itself, as in MXNet.
    """
    half, single = updater(name, options, multi_precision=True), updater(name, options)
    weight = start(dtype)
    expected = weight.astype("float32")
    for grad in gradients(5, dtype=dtype):
        half(0, grad, weight)
        single(0, grad.astype("float32"), expected)
        rounded = expected.astype(dtype)
        assert weight.dtype_name == dtype
        np.testing.assert_array_equal(weight.asnumpy(), rounded.asnumpy())


@pytest.mark.filterwarnings("ignore:.*updates of float16")
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_states_have_the_type_of_the_weight(name, options, dtype):
    rule, weight = updater(name, options), start(dtype)
    for grad in gradients(2, dtype=dtype):
        rule(0, grad, weight)
    state = rule.states[0]
    states = state if isinstance(state, tuple) else (state,)
    assert weight.dtype_name == dtype
    assert {s.dtype_name for s in states if s is not None} <= {dtype}


def test_dcasgd_with_momentum():
    lr, wd, lamda, momentum = 0.1, 0.05, 0.5, 0.9
    rule = mx.optimizer.DCASGD(momentum, lamda, learning_rate=lr, wd=wd)
    weight = start()
    w, v = weight.asnumpy().astype("float64"), np.zeros((3, 2))
    p = w
    state = rule.create_state(0, weight)
    for grad in gradients(4):
        rule.update(0, weight, grad, state)
        g = grad.asnumpy().astype("float64")
        v = momentum * v - lr * (g + wd * w + lamda * g * g * (w - p))
        w, p = w + v, w
    np.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-5)
    np.testing.assert_allclose(state[1].asnumpy(), p, rtol=1e-5)


def test_lamb_moves_the_copy_of_the_weight():
    rule = mx.optimizer.LAMB(learning_rate=0.01, multi_precision=True)
    weight = mx.nd.ones((4,), dtype="float16")
    state = rule.create_state_multi_precision(0, weight)
    for _ in range(3):
        rule.update_multi_precision(0, weight, mx.nd.ones((4,), dtype="float16"), state)
    np.testing.assert_allclose(state[0].asnumpy(), [0.99**3] * 4, rtol=1e-4)


def test_noise_of_sgld():
    lr = 0.25
    rule = mx.optimizer.SGLD(learning_rate=lr, wd=0.1, rescale_grad=2.0, clip_gradient=1.5)
    weight = mx.nd.ones((200, 200)) * 3
    mx.random.seed(4)
    rule.update(0, weight, mx.nd.ones((200, 200)), rule.create_state(0, weight))
    found = weight.asnumpy().astype("float64")
    n, mean = found.size, 3 - lr / 2 * (1.5 + 0.1 * 3)
    assert abs(found.mean() - mean) < 5 * np.sqrt(lr / n)
    assert abs(found.var() - lr) < 5 * lr * np.sqrt(2 / n)
    again = mx.nd.ones((200, 200)) * 3
    mx.random.seed(4)
    rule.update(0, again, mx.nd.ones((200, 200)), None)
    assert again.asnumpy().tobytes() == weight.asnumpy().tobytes()


@pytest.mark.parametrize(
    ("strategy", "rates"),
    [
        ("linear", [1.25, 1.5, 1.75, 2, 2]),
        ("power2", [1.0625, 1.25, 1.5625, 2, 2]),
        ("sqrt", [1.5, 1 + np.sqrt(0.5), 1 + np.sqrt(0.75), 2, 2]),
        ("other", [1, 1, 1, 2, 2]),
    ],
)
def test_warm_up_of_lbsgd(strategy, rates):
    rule = mx.optimizer.LBSGD(
        warmup_strategy=strategy, warmup_epochs=2, updates_per_epoch=2, batch_scale=2
    )
    assert [rule._multiplier_at(n) for n in range(1, 6)] == pytest.approx(rates)


def test_lbsgd_logs_its_settings_as_mxnet(caplog):
    with caplog.at_level(logging.INFO):
        mx.optimizer.LBSGD(batch_scale=4, warmup_strategy="lars")
    # MXNet 1.9.1 logs these lines.
    assert caplog.messages == [
        "Running Large-Batch SGD Algorithm",
        "(Batch_scale=4.000000, warmup_epochs=5, warmup_strategy=lars, updates_per_epoch=32)",
    ]


def test_lars_leaves_some_rates_and_decays():
    names = {0: "a_weight", 1: "a_bias", 2: "b_gamma", 3: "other"}
    rule = mx.optimizer.LARS(
        learning_rate=1.0, wd=0.5, eta=0.25, param_idx2name=names, rescale_grad=2.0
    )
    assert [rule._get_wd(i) for i in range(4)] == [0.5, 0, 0, 0]
    steps = []
    for index in range(4):
        weight = mx.nd.array([3, 4])
        rule.update(index, weight, mx.nd.array([0, 1]), None)
        steps.append((mx.nd.array([3, 4]) - weight).asnumpy())
    rate = 0.25 * 5 / (2 * 1 + 0.5 * 5)
    expected = [[rate * 1.5, rate * 4], [0, 2], [0, 2], [0, 0.25 * 5]]
    np.testing.assert_allclose(steps, expected, rtol=1e-5)


def test_a_weight_without_elements():
    for name, options in RULES:
        weight = mx.nd.zeros((0, 3))
        updater(name, options)(0, mx.nd.zeros((0, 3)), weight)
        assert weight.shape == (0, 3), name


def test_every_name_is_known():
    for name, _ in RULES:
        assert type(mx.optimizer.create(name)).__name__.lower() == name
    with pytest.raises(InvalidArgumentError, match="did you mean adagrad"):
        mx.optimizer.create("adagrat")
