"""What a monitor callback sees, beside MXNet 1.9.1 (tools/golden/make_monitor.py) and NumPy."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import DTypeError, InvalidArgumentError

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NETWORKS = sorted(p.stem for p in (GOLDEN / "monitor").glob("*.npz"))


class Recorder:
    """A callback that keeps names and values."""

    def __init__(self):
        self.found = []

    def __call__(self, name, array):
        self.found.append((name, array.asnumpy()))

    @property
    def names(self):
        return [name for name, _ in self.found]

    def take(self):
        found, self.found = dict(self.found), []
        return found


def layers():
    net = S.FullyConnected(S.Variable("data"), num_hidden=3, name="fc")
    return S.SoftmaxOutput(S.Activation(net, act_type="tanh", name="act"), name="softmax")


def bound(**kwargs):
    executor = layers().simple_bind(mx.cpu(), data=(4, 5), **kwargs)
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = rng.integers(0, 3, 4) if "label" in name else rng.standard_normal(array.shape)
    return executor


@pytest.mark.parametrize("name", NETWORKS)
def test_names_values_and_order_are_those_of_mxnet(name):
    golden = dict(np.load(GOLDEN / "symbol" / f"{name}.npz"))
    args = {k[4:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("arg:")}
    states = {k[4:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("aux:")}
    net = mx.sym.load(GOLDEN / "symbol" / f"{name}.json")
    expected = [(k[4:], v) for k, v in np.load(GOLDEN / "monitor" / f"{name}.npz").items()]
    seen = Recorder()
    executor = net.bind(mx.cpu(), args, grad_req="null", aux_states=states)
    executor.set_monitor_callback(seen)
    executor.forward(is_train=True)
    # Hidden outputs are those of each package's kernels.
    public = {*net.get_internals().list_outputs()}
    expected = [(k, v) for k, v in expected if k in public]
    found = [(k, v) for k, v in seen.found if k in public]
    assert [k for k, _ in found] == [k for k, _ in expected]
    for (key, value), (_, wanted) in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=2e-5, err_msg=key)


def test_inputs_come_before_the_operator_that_reads_them():
    executor, seen = bound(), Recorder()
    executor.set_monitor_callback(seen, monitor_all=True)
    executor.forward()
    # MXNet's names and order.
    assert seen.names == [
        *("data", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias", "fc_output"),
        *("act_data", "act_output"),
        *("softmax_data", "softmax_label", "softmax_label", "softmax_output"),
    ]
    found = seen.take()
    np.testing.assert_array_equal(found["fc_weight"], executor.arg_dict["fc_weight"].asnumpy())
    np.testing.assert_array_equal(found["act_data"], found["fc_output"])


def test_backward_operators_are_shown_with_the_gradients_that_they_give():
    executor, plain, seen = bound(), bound(), Recorder()
    executor.set_monitor_callback(seen)
    executor.forward(is_train=True)
    seen.take()
    executor.backward()
    found = seen.take()
    plain.forward(is_train=True)
    plain.backward()
    for i, name in enumerate(("data", "fc_weight", "fc_bias")):
        expected = plain.grad_dict[name].asnumpy()
        np.testing.assert_array_equal(executor.grad_dict[name].asnumpy(), expected)
        np.testing.assert_array_equal(found[f"fc_backward_output{i}"], expected)
    assert next(iter(found)) == "softmax_backward_output0"


def test_head_gradients_are_shown_before_what_reads_them():
    # MXNet 1.9.1 has these names in this order; of a loss it shows none.
    x = S.Variable("x")
    both = S.Group([S.square(x, name="a"), S.exp(x, name="b")])
    executor, seen = both.simple_bind(mx.cpu(), x=(2,)), Recorder()
    executor.set_monitor_callback(seen)
    executor.forward(is_train=True)
    seen.take()
    executor.backward([mx.nd.array([1, 2]), mx.nd.array([3, 4])])
    assert seen.names == [
        *("_head_grad_1_id_output", "b_backward_output"),
        *("_head_grad_0_id_output", "a_backward_output"),
    ]
    found = seen.take()
    assert found["_head_grad_0_id_output"].tolist() == [1, 2]
    assert found["_head_grad_1_id_output"].tolist() == [3, 4]


def test_a_head_gradient_that_is_the_gradient_is_shown_once():
    net = S.elemwise_add(S.Variable("x"), S.Variable("y"), name="s")
    executor, seen = net.simple_bind(mx.cpu(), x=(2,), y=(2,)), Recorder()
    executor.set_monitor_callback(seen)
    executor.forward(is_train=True)
    executor.backward(mx.nd.array([5, 6]))
    assert seen.names[:2] == ["s_output", "_head_grad_0_id_output"]
    assert seen.names.count("_head_grad_0_id_output") == 1
    assert seen.take()["_head_grad_0_id_output"].tolist() == [5, 6]


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_a_monitor_changes_no_result(is_train, grad_req):
    executor, plain = bound(grad_req=grad_req), bound(grad_req=grad_req)
    executor.set_monitor_callback(Recorder(), monitor_all=True)
    for _ in range(2):
        for e in (executor, plain):
            e.forward(is_train=is_train)
            e.backward()
    for name, gradient in plain.grad_dict.items():
        np.testing.assert_array_equal(executor.grad_dict[name].asnumpy(), gradient.asnumpy())


def test_what_is_kept_stays_until_the_next_pass():
    executor, kept = bound(), {}
    executor.set_monitor_callback(kept.__setitem__)
    executor.forward(is_train=True)
    executor.backward()
    layer = executor.arg_dict["data"].asnumpy() @ executor.arg_dict["fc_weight"].asnumpy().T
    layer += executor.arg_dict["fc_bias"].asnumpy()
    np.testing.assert_allclose(kept["fc_output"].asnumpy(), layer, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(kept["act_output"].asnumpy(), np.tanh(layer), rtol=1e-5, atol=1e-6)


def test_a_composed_operator_is_one_operator():
    x = S.Variable("x")
    net = S.negative(S.khatri_rao(x, S.exp(x, name="e"), name="kr"), name="n")
    executor, seen = net.simple_bind(mx.cpu(), x=(2, 3)), Recorder()
    executor.arg_dict["x"][:] = np.arange(6).reshape(2, 3)
    executor.set_monitor_callback(seen)
    (out,) = executor.forward()
    assert seen.names == ["e_output", "kr_output", "n_output"]
    np.testing.assert_array_equal(-seen.take()["kr_output"], out.asnumpy())


def test_outputs_on_other_devices_are_shown_too():
    with mx.AttrScope(ctx_group="far"):
        net = S.exp(S.Variable("x"), name="first")
    net = S.negative(net, name="second")
    executor = net.simple_bind(mx.cpu(), group2ctx={"far": mx.cpu(1)}, x=(2,))
    seen = Recorder()
    executor.set_monitor_callback(seen)
    executor.forward()
    assert [(n, v.tolist()) for n, v in seen.found] == [
        ("first_output", [1, 1]),
        ("second_output", [-1, -1]),
    ]


def test_what_the_callback_raises_comes_out_and_ends_the_pass():
    executor = bound()

    def stop(name, _):
        if name == "act_output":
            raise ZeroDivisionError(name)

    executor.set_monitor_callback(stop)
    with pytest.raises(ZeroDivisionError, match="act_output"):
        executor.forward(is_train=True)
    with pytest.raises(InvalidArgumentError, match="forward pass"):
        executor.backward()
    executor.set_monitor_callback(None)
    plain = bound()
    for e in (executor, plain):
        e.forward(is_train=True)
        e.backward()
    expected = plain.grad_dict["fc_weight"].asnumpy()
    np.testing.assert_array_equal(executor.grad_dict["fc_weight"].asnumpy(), expected)


def test_the_callback_runs_on_the_thread_of_the_caller_and_may_wait():
    executor, threads = bound(), set()

    def wait(_, array):
        threads.add(threading.get_ident())
        array.wait_to_read()
        mx.nd.waitall()

    executor.set_monitor_callback(wait)
    executor.forward()
    assert threads == {threading.get_ident()}


def test_a_callback_may_take_itself_away():
    executor, calls = bound(), []

    def once(name, _):
        calls.append(name)
        executor.set_monitor_callback(None)

    executor.set_monitor_callback(once)
    (out,) = executor.forward(is_train=True)
    executor.backward()
    assert calls == ["fc_output"]
    np.testing.assert_allclose(out.asnumpy().sum(1), 1, rtol=1e-5)


def test_reshape_takes_the_callback_along():
    executor, seen = bound(), Recorder()
    executor.set_monitor_callback(seen)
    executor.reshape(data=(2, 5), softmax_label=(2,)).forward()
    assert [v.shape for v in seen.take().values()] == [(2, 3)] * 3


def test_something_that_cannot_be_called_is_refused():
    with pytest.raises(DTypeError, match="callback must be a function"):
        bound().set_monitor_callback("print")
