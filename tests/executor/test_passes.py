"""Passes change what a program costs, never a bit of what it computes."""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError
from ferromix.executor import structures

SWITCHES = ("COMMON_EXPRESSIONS", "FOLD_CONSTANTS", "SWAP_POOLING", "FUSION", "RECOMPUTE")
SWITCHES += ("FUSE_CONVOLUTION", "FUSE_NORM")
OFF = {f"FERROMIX_{name}": "0" for name in SWITCHES}
SHAPE = (4, 3, 8, 8)


def random_net(seed):
    """A graph of operators that the passes look at, with repetitions and a loss."""
    draw = random.Random(seed)
    values = [S.Variable("x")]
    for i in range(14):
        a, b = draw.choice(values), draw.choice(values)
        kind = draw.randrange(10)
        if kind == 0:
            made = S.Activation(a, act_type=draw.choice(["relu", "tanh", "sigmoid"]))
        elif kind == 1:
            made = a + b
        elif kind == 2:
            made = a * 0.5 + draw.choice([0.25, 1.0])
        elif kind == 3:
            made = S.BatchNorm(a, name=f"bn{i}", fix_gamma=draw.random() < 0.5)
        elif kind == 4:
            made = S.Convolution(a, kernel=(3, 3), pad=(1, 1), num_filter=3, name=f"conv{i}")
        elif kind == 5:
            made = S.tanh(a) * S.tanh(a)
        elif kind == 6:
            made = S.Dropout(a, p=0.25)
        elif kind == 7:
            made = S.elemwise_mul(S.sigmoid(a), S.sin(b))
        elif kind == 8:
            waves = S.sin(S.reshape(S.arange(3 * 8 * 8), shape=(1, 3, 8, 8)))
            made = S.broadcast_mul(a, S.broadcast_add(waves, S.ones((1, 1, 8, 8))))
        else:
            pooled = S.Pooling(
                S.Activation(a, act_type="relu"), kernel=(2, 2), stride=(2, 2), pool_type="max"
            )
            made = S.UpSampling(pooled, scale=2, sample_type="nearest")
        values.append(made)
    flat = S.Flatten(values[-1] + values[-2])
    out = S.FullyConnected(flat, num_hidden=5, name="fc")
    return S.Group([S.SoftmaxOutput(out, name="softmax"), S.BlockGrad(values[-1])])


def run(net, monkeypatch, env, train=True, steps=2):
    """Outputs, gradients and states of some passes, and the executor."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    executor = net.simple_bind(mx.cpu(), "write" if train else "null", x=SHAPE)
    for name in env:
        monkeypatch.delenv(name)
    values = np.random.RandomState(3)
    for array in executor.arg_arrays:
        array[:] = values.uniform(-1, 1, array.shape)
    executor.arg_dict["softmax_label"][:] = values.randint(0, 5, SHAPE[0])
    mx.random.seed(5)
    found = []
    for _ in range(steps):
        executor.forward(is_train=train)
        if train:
            executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
        found += [o.asnumpy() for o in executor.outputs]
        found += [g.asnumpy() for g in executor.grad_arrays if g is not None]
        found += [a.asnumpy() for a in executor.aux_arrays]
    return found, executor


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(12))
def test_bits_are_those_of_the_graph_as_it_was(seed, monkeypatch):
    net = random_net(seed)
    expected, plain = run(net, monkeypatch, OFF)
    found, executor = run(net, monkeypatch, {})
    same(found, expected)
    assert executor.memory_planned() <= plain.memory_planned() * 1.25
    for env in ({"MXNET_BACKWARD_DO_MIRROR": "1"}, {"FERROMIX_MEMORY_BUDGET": "0.001"}):
        with pytest.warns(RuntimeWarning) if "FERROMIX_MEMORY_BUDGET" in env else _Nothing():
            found, _ = run(net, monkeypatch, env)
        same(found, expected)
    expected, _ = run(net, monkeypatch, OFF, train=False)
    found, _ = run(net, monkeypatch, {"FERROMIX_FUSE_CONVOLUTION": "0"}, train=False)
    same(found, expected)
    # Normalisation in the weights of a convolution rounds elsewhere.
    found, _ = run(net, monkeypatch, {}, train=False)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * max(1, np.abs(b).max()))


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def kinds(executor):
    return [n.op.name for n in executor.handle.main_program().order]


def constant_net():
    """Something of constants alone, read forward and backward, and as an output."""
    steps = S.reshape(S.arange(12), shape=(3, 4), name="steps")
    scale = S.exp(S.broadcast_mul(steps, S.full((1, 4), 0.25)), name="scale")
    x = S.broadcast_mul(S.Variable("x"), scale, name="scaled")
    return S.Group([S.tanh(x), scale, S.broadcast_add(x, steps)])


def test_constants_are_computed_once(monkeypatch):
    values = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    found = []
    for env in ("0", "1"):
        monkeypatch.setenv("FERROMIX_FOLD_CONSTANTS", env)
        executor = constant_net().simple_bind(mx.cpu(), x=(3, 4))
        executor.arg_arrays[0][:] = mx.nd.array(values)
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward([mx.nd.ones((3, 4))] * 3)
            # An output is the caller's to write, so it is computed in every pass.
            kept = [o.asnumpy() for o in (*executor.outputs, *executor.grad_arrays)]
            for output in executor.outputs:
                output[:] = 0
            found.append(kept)
        names = [n.name for n in executor.handle.main_program().order]
    same(found[1], found[0])
    same(found[2], found[0])
    same(found[3], found[0])
    scale = np.exp(np.arange(12, dtype="float32").reshape(3, 4) * np.float32(0.25))
    np.testing.assert_allclose(found[0][0], np.tanh(values * scale), rtol=1e-5)
    assert "scale" in names
    assert not {"steps", "_arange0"} & set(names)
    assert "_arange" not in kinds(executor)


def test_executors_share_constants_and_large_ones_are_not_kept():
    net = S.broadcast_add(S.Variable("x"), S.exp(S.zeros((4, 256))))
    first, second = (net.simple_bind(mx.cpu(), x=(4, 256)) for _ in range(2))
    programs = [e.handle.main_program() for e in (first, second)]
    assert [p.constant_bytes for p in programs] == [4096, 4096]
    assert programs[0]._made is programs[1]._made
    assert first.memory_planned() == (3 * 4096) / 2**20 - 4096 / 2**20
    large = S.broadcast_add(S.Variable("x"), S.exp(S.zeros((1024, 512))))
    executor = large.simple_bind(mx.cpu(), x=(1024, 512))
    assert executor.handle.main_program().constant_bytes == 0
    assert (executor.forward()[0].asnumpy() == 1).all()


def test_a_state_that_begins_with_constants_begins_so_in_every_pass():
    x, zeros, ones = S.Variable("x"), S.zeros((3,)), S.ones((3,))
    net = S.BatchNorm(x, moving_mean=zeros, moving_var=ones, momentum=0.5, name="b")
    executor = S.Group([net, S.broadcast_add(x, ones * 2)]).simple_bind(mx.cpu(), x=(5, 3))
    executor.arg_dict["x"][:] = 4
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones((5, 3))] * 2)
    normal, more = (o.asnumpy() for o in executor.forward(is_train=False))
    np.testing.assert_allclose(normal, np.full((5, 3), 4 / np.sqrt(1 + 1e-3)), rtol=1e-5)
    assert (more == 6).all()


def test_random_numbers_are_no_constants():
    net = S.random.uniform(shape=(50,)) + S.Variable("x")
    executor = net.simple_bind(mx.cpu(), x=(50,))
    first, second = (executor.forward()[0].asnumpy() for _ in range(2))
    assert (first != second).any()


def test_what_is_computed_twice_is_computed_once():
    x = S.Variable("x")
    executor = (S.tanh(x) * S.sin(x) + S.tanh(x)).simple_bind(mx.cpu(), "null", x=(4,))
    assert sum("tanh" in n.name for n in executor.handle.main_program().order) <= 1
    executor.forward(x=mx.nd.array([0, 1, 2, 3]))
    x = np.arange(4, dtype="float32")
    expected = np.tanh(x) * np.sin(x) + np.tanh(x)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), expected, rtol=1e-6)


def test_expressions_of_forward_serve_backward(monkeypatch):
    monkeypatch.setenv("FERROMIX_FUSION", "0")
    x = S.Variable("x")
    # The gradient of sin reads cos(x), which the graph has anyhow.
    net = S.Group([S.sin(x), S.BlockGrad(S.cos(x) * 2)])
    assert kinds(net.simple_bind(mx.cpu(), x=(4,))).count("cos") == 1
    monkeypatch.setenv("FERROMIX_COMMON_EXPRESSIONS", "0")
    assert kinds(net.simple_bind(mx.cpu(), x=(4,))).count("cos") == 2


@pytest.mark.parametrize(
    "twice",
    [
        lambda x: (S.Dropout(x, p=0.5), S.Dropout(x, p=0.5)),
        lambda x: (S.random.uniform(shape=(64,)) + x, S.random.uniform(shape=(64,)) + x),
        lambda x: (S.sample_normal(x, x * x + 1), S.sample_normal(x, x * x + 1)),
    ],
)
def test_draws_stay_apart(twice):
    a, b = twice(S.Variable("x"))
    executor = S.Group([a * 1, b * 1]).simple_bind(mx.cpu(), x=(64,))
    executor.forward(is_train=True, x=mx.nd.ones((64,)))
    assert (executor.outputs[0].asnumpy() != executor.outputs[1].asnumpy()).any()


def test_states_change_between_their_readers():
    x, mean = S.Variable("x"), S.Variable("bn_moving_mean")
    net = S.BatchNorm(x, moving_mean=mean, name="bn", fix_gamma=False)
    net = S.Group([S.identity(mean) * 1, net, S.broadcast_add(S.Flatten(net), S.identity(mean))])
    executor = net.simple_bind(mx.cpu(), x=(4, 2))
    executor.arg_dict["bn_gamma"][:] = 1
    executor.aux_dict["bn_moving_var"][:] = 1
    data = np.array([[1, 2], [3, 4], [5, 6], [9, 8]], "float32")
    executor.forward(is_train=True, x=mx.nd.array(data))
    outs = [o.asnumpy() for o in executor.outputs]
    moved = executor.aux_dict["bn_moving_mean"].asnumpy()
    np.testing.assert_allclose(outs[2] - outs[1], np.broadcast_to(moved, (4, 2)), rtol=1e-4)


def mirrored(**attrs):
    with mx.AttrScope(**attrs):
        x = S.Variable("x")
        for i in range(6):
            x = S.Activation(S.FullyConnected(x, num_hidden=64, name=f"fc{i}"), act_type="tanh")
            x = S.sin(x)
    return S.SoftmaxOutput(x, name="softmax")


def test_force_mirroring_recomputes_and_saves():
    plain = mirrored().simple_bind(mx.cpu(), x=(256, 64))
    forced = mirrored(__force_mirroring__="True").simple_bind(mx.cpu(), x=(256, 64))
    assert any(n.endswith("_again") for n in forced.memory_plan().steps)
    assert not any(n.endswith("_again") for n in plain.memory_plan().steps)


def test_mirroring_takes_less_memory(monkeypatch):
    net = mirrored()
    before = net.simple_bind(mx.cpu(), x=(256, 64)).memory_planned()
    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "1")
    assert net.simple_bind(mx.cpu(), x=(256, 64)).memory_planned() < 0.8 * before


def test_a_budget_is_kept_or_warned_about(monkeypatch):
    net = mirrored()
    before = net.simple_bind(mx.cpu(), x=(256, 64)).memory_planned()
    monkeypatch.setenv("FERROMIX_MEMORY_BUDGET", str(0.7 * before))
    assert net.simple_bind(mx.cpu(), x=(256, 64)).memory_planned() <= 0.71 * before
    monkeypatch.setenv("FERROMIX_MEMORY_BUDGET", "0.001")
    with pytest.warns(RuntimeWarning, match="are not enough for this graph"):
        net.simple_bind(mx.cpu(), x=(256, 64))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("FERROMIX_MEMORY_BUDGET", text) for text in ("much", "-1", "1e30", "nan", "inf")],
        *[("FERROMIX_RECOMPUTE", text) for text in ("much", "-1", "nan", "inf")],
    ],
)
def test_settings_that_are_none(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidArgumentError, match=f"{name} must be a .*got '{value}'"):
        mirrored().simple_bind(mx.cpu(), x=(256, 64))


@pytest.mark.parametrize("name", ["FERROMIX_MEMORY_BUDGET", "FERROMIX_RECOMPUTE"])
def test_empty_settings_are_none(name, monkeypatch):
    before = mirrored().simple_bind(mx.cpu(), x=(256, 64)).memory_planned()
    monkeypatch.setenv(name, "")
    assert mirrored().simple_bind(mx.cpu(), x=(256, 64)).memory_planned() == before


def test_backward_as_prediction_and_after_prediction(monkeypatch):
    x = S.Variable("x")
    net = S.BatchNorm(S.tanh(S.BatchNorm(x, name="a")), name="b")
    values = mx.nd.array(np.random.RandomState(1).randn(*SHAPE))
    found = []
    for env in ("0", "1"):
        monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", env)
        executor = net.simple_bind(mx.cpu(), x=SHAPE)
        for name in ("a_moving_var", "b_moving_var"):
            executor.aux_dict[name][:] = 2
        for trained, backward in ((True, False), (False, True), (True, True)):
            executor.forward(is_train=trained, x=values)
            executor.backward(mx.nd.ones(SHAPE), is_train=backward)
            found.append(executor.grad_dict["x"].asnumpy())
    same(found[3:], found[:3])


def test_what_the_planner_claims_is_what_the_pool_serves():
    net = mirrored()
    structures.forget()  # else a bind may give up a network that holds constants
    gc.collect()
    mx.nd.waitall()
    before = mx.storage.stats()["in_use"]
    executor = net.simple_bind(mx.cpu(), x=(256, 64))
    arrays = [*executor.arg_arrays, *executor.grad_arrays, *executor.aux_arrays]
    given = sum(a.size * 4 for a in arrays if a is not None)
    executor.forward(is_train=True)
    executor.backward()
    mx.nd.waitall()
    served = mx.storage.stats()["in_use"] - before
    claimed = executor.memory_planned() * 2**20 + given
    assert claimed <= served <= claimed * 1.13 + 65536


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((1, 1, 4, 4), {"kernel": (2, 2), "stride": (2, 2)}),
        ((1, 2, 5, 7), {"kernel": (2, 2), "stride": (2, 2)}),
        ((7, 10, 6, 6), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
        ((3, 5, 9), {"kernel": (3,), "stride": (2,), "pool_type": "avg"}),
        ((2, 40, 3, 4, 5), {"kernel": (2, 2, 2), "stride": (1, 2, 2), "pool_type": "sum"}),
        ((4, 3, 6, 6), {"global_pool": True, "kernel": (1, 1)}),
        ((2, 6, 6, 3), {"kernel": (2, 2), "stride": (2, 2), "layout": "NHWC"}),
    ],
)
def test_poolings_over_their_input(shape, attrs, dtype):
    values = mx.nd.array(np.random.RandomState(2).randn(*shape), dtype=dtype)
    net = S.sin(S.Pooling(S.cos(S.Variable("x"), name="c"), **attrs))
    executor = net.simple_bind(mx.cpu(), "null", type_dict={"x": dtype}, x=shape)
    over = "over c_output" in str(executor.memory_plan())
    assert over == ("layout" not in attrs)
    found = executor.forward(x=values)[0].asnumpy()
    expected = mx.nd.sin(mx.nd.Pooling(mx.nd.cos(values), **attrs))
    np.testing.assert_array_equal(found, expected.asnumpy())


@pytest.mark.parametrize("kind", ["relu", "tanh", "sigmoid", "softrelu"])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 3)])
def test_slopes_before_poolings_give_the_same(kind, kernel, monkeypatch):
    x = S.Convolution(S.Variable("x"), kernel=(3, 3), num_filter=4, name="conv")
    x = S.Activation(x, act_type=kind)
    net = S.Pooling(x, kernel=kernel, stride=(2, 2), pool_type="max")
    values = mx.nd.array(np.random.RandomState(2).randn(3, 2, 11, 11).round(1))
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv("FERROMIX_SWAP_POOLING", value)
        executor = net.simple_bind(mx.cpu(), x=values.shape)
        swapped = kinds(executor).index("_backward_Activation")
        assert (kinds(executor)[swapped + 1] == "_backward_Pooling") == (
            value == "1" and kernel == (2, 2)
        )
        executor.arg_dict["conv_weight"][:] = 0.5
        executor.forward(is_train=True, x=values)
        executor.backward(mx.nd.array(np.random.RandomState(4).randn(*executor.outputs[0].shape)))
        found.append([g.asnumpy() for g in executor.grad_arrays])
    same(*found)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [1 << 16, (1 << 16) + 1, 100_003])
def test_chains_are_one_step_of_the_same_bits(size, dtype, monkeypatch):
    x, y = S.Variable("x"), S.Variable("y")
    a = S.Activation(x * 0.3 - y, act_type="tanh")
    net = S.clip(S.square(a) * y + S.sigmoid(a + x), 0.1, 1.2) / 3
    draw = np.random.RandomState(7)
    values = {n: mx.nd.array(draw.randn(size), dtype=dtype) for n in "xy"}
    head = mx.nd.array(draw.randn(size), dtype=dtype)
    found, counts = [], []
    for value in ("1", "0"):
        monkeypatch.setenv("FERROMIX_FUSION", value)
        executor = net.simple_bind(mx.cpu(), "add", type_dict={"x": dtype}, x=(size,))
        for grad in executor.grad_arrays:
            grad[:] = 1
        executor.forward(is_train=True, **values)
        executor.backward(head)
        found.append([a.asnumpy() for a in (*executor.outputs, *executor.grad_arrays)])
        predicted = net.simple_bind(mx.cpu(), "null", type_dict={"x": dtype}, x=(size,))
        found[-1].append(predicted.forward(**values)[0].asnumpy())
        counts.append((len(kinds(executor)), len(kinds(predicted))))
    assert counts[0][0] < counts[1][0]
    assert counts[0][1] == 1
    same(*found)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("filters", "attrs", "over"),
    [
        (4, {"kernel": (3, 3), "pad": (1, 1)}, True),
        (2, {"kernel": (3, 3), "pad": (1, 1)}, True),
        (4, {"kernel": (3, 3), "pad": (1, 1), "stride": (2, 2)}, True),
        (3, {"kernel": (3, 3), "pad": (1, 1)}, False),
        (4, {"kernel": (1, 1)}, False),
    ],
)
def test_convolutions_over_their_input(filters, attrs, over, dtype):
    draw = np.random.RandomState(2)
    values = mx.nd.array(draw.randn(3, 4, 9, 8), dtype=dtype)
    attrs = {**attrs, "num_filter": filters, "no_bias": True}
    net = S.sin(S.Convolution(S.cos(S.Variable("x"), name="c"), name="conv", **attrs))
    executor = net.simple_bind(mx.cpu(), "null", type_dict={"x": dtype}, x=values.shape)
    assert ("over c_output" in str(executor.memory_plan())) == over
    weight = executor.arg_dict["conv_weight"]
    weight[:] = draw.randn(*weight.shape)
    found = executor.forward(x=values)[0].asnumpy()
    expected = mx.nd.sin(mx.nd.Convolution(mx.nd.cos(values), weight, **attrs))
    np.testing.assert_array_equal(found, expected.asnumpy())


def test_states_that_are_results_stay_apart(monkeypatch):
    """Two steps of an optimizer whose momenta are made by the graph, from one expression each."""
    w, g = S.Variable("w"), S.Variable("g")
    made = []
    for _ in range(2):
        momentum = S.sin(g)
        step = S.sgd_mom_update(w, g, momentum, lr=0.5, momentum=0.9)
        made += [step, S.cos(momentum * 1)]
    values = {n: mx.nd.array(np.random.RandomState(6).randn(2, 3)) for n in "wg"}
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv("FERROMIX_COMMON_EXPRESSIONS", value)
        executor = S.Group(made).simple_bind(mx.cpu(), "null", w=(2, 3))
        found.append([o.asnumpy() for o in executor.forward(**values)])
    same(*found)


def test_a_state_is_not_read_again_after_it_changed(monkeypatch):
    x, mean = S.Variable("x"), S.Variable("bn_moving_mean")
    before = S.broadcast_mul(S.tanh(S.identity(mean) * 2), S.mean(x, axis=0))
    after = S.BatchNorm(x, moving_mean=mean, name="bn", fix_gamma=False)
    net = S.sum(S.broadcast_mul(after, S.tanh(before)))
    values = mx.nd.array(np.random.RandomState(1).randn(4, 3) + 2)
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", value)
        executor = net.simple_bind(mx.cpu(), x=(4, 3))
        executor.arg_dict["bn_gamma"][:] = 1
        executor.aux_dict["bn_moving_mean"][:] = 0.3
        executor.aux_dict["bn_moving_var"][:] = 1
        executor.forward(is_train=True, x=values)
        executor.backward(mx.nd.ones(()) if not executor.outputs[0].shape else mx.nd.ones((1,)))
        found.append([g.asnumpy() for g in executor.grad_arrays])
    same(*found)
