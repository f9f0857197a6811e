"""Networks on several devices give what they give on one, and what MXNet 1.9.1 gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "devices"
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}
SHAPES = {"data": (4, 2, 7, 6), "label": (4,)}


@pytest.fixture(scope="module")
def net():
    return mx.sym.load(GOLDEN / "network.json")


def part(golden, prefix):
    return {k.partition(":")[2]: v for k, v in golden.items() if k.startswith(f"{prefix}:")}


def step(net, ctx, group2ctx, args):
    """An executor after a training step."""
    requests = {n: "write" for n in net.list_arguments() if n != "label"}
    executor = net.simple_bind(ctx, grad_req=requests, group2ctx=group2ctx, **SHAPES)
    for name, array in executor.arg_dict.items():
        array[:] = args[name]
    for array in executor.aux_dict.values():
        array[:] = 1
    executor.forward(is_train=True)
    executor.backward()
    return executor


def arrays_of(executor):
    found = {f"grad:{k}": v for k, v in executor.grad_dict.items() if v is not None}
    found.update({f"aux:{k}": v for k, v in executor.aux_dict.items()})
    found["out:0"] = executor.outputs[0]
    return found


PAIRS = [("cpu(0)", "cpu(1)"), ("cpu(1)", "cpu(2)"), ("cpu(1)", "cpu(0)"), ("cpu(0)", "cpu(0)")]


@pytest.mark.parametrize("pair", PAIRS)
def test_groups_on_two_devices(net, pair):
    golden = dict(np.load(GOLDEN / "grouped.npz"))
    first, second = map(mx.context.as_context, pair)
    places = {"cpu(1)": first, "cpu(2)": second}
    args = part(golden, "arg")
    executor = step(net, mx.cpu(0), {"first": first, "second": second}, args)
    alone = arrays_of(step(net, mx.cpu(0), None, args))
    found = arrays_of(executor)
    for name, array in found.items():
        np.testing.assert_array_equal(array.asnumpy(), alone[name].asnumpy(), err_msg=name)
        np.testing.assert_allclose(array.asnumpy(), golden[name], err_msg=name, **TOLERANCE)
    found.update({f"arg:{k}": v for k, v in executor.arg_dict.items()})
    expected = {k: places[str(v)] for k, v in part(golden, "at").items()}
    assert {k: v.context for k, v in found.items()} == expected


def test_replicas_on_two_devices(net):
    golden = dict(np.load(GOLDEN / "replicas.npz"))
    args = part(golden, "arg")
    names = [n for n in args if n not in SHAPES]

    def train(places):
        executors = [net.simple_bind(c, **SHAPES) for c in places]
        store = mx.kv.create("local")
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, rescale_grad=1 / 8))
        for name in names:
            store.init(name, mx.nd.array(args[name]))
        for i, executor in enumerate(executors):
            for name, array in executor.arg_dict.items():
                rows = slice(4 * i, 4 * i + 4) if name in SHAPES else slice(None)
                array[:] = args[name][rows]
        for _ in range(5):
            for executor in executors:
                executor.forward(is_train=True)
                executor.backward()
            for name in names:
                store.push(name, [e.grad_dict[name] for e in executors])
                store.pull(name, [e.arg_dict[name] for e in executors])
        for executor, place in zip(executors, places, strict=True):
            assert {a.context for a in executor.arg_arrays} == {place}
        return [{n: e.arg_dict[n].asnumpy() for n in names} for e in executors]

    one, other = train([mx.cpu(0), mx.cpu(1)])
    alone, _ = train([mx.cpu(0), mx.cpu(0)])
    for name, expected in part(golden, "after").items():
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
        np.testing.assert_array_equal(one[name], alone[name], err_msg=name)
        np.testing.assert_allclose(one[name], expected, err_msg=name, rtol=1e-4, atol=1e-5)


def simple():
    x = mx.sym.Variable("x")
    with mx.AttrScope(ctx_group="a"):
        y = x * 2
    return y + 1, mx.sym.Group([x * 3, y, y + 1])


GROUP = {"a": mx.cpu(1)}


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("grad_at", [0, 1, 2])
def test_arrays_of_the_caller_may_be_anywhere(at, grad_at):
    x = mx.nd.array([1, 2], ctx=mx.cpu(at))
    grad = mx.nd.ones((2,), ctx=mx.cpu(grad_at))
    net, _ = simple()
    executor = net.bind(mx.cpu(0), {"x": x}, {"x": grad}, "add", group2ctx=GROUP)
    (out,) = executor.forward(is_train=True)
    executor.backward(mx.nd.array([1, 10], ctx=mx.cpu(3)))
    assert (out.context, out.asnumpy().tolist()) == (mx.cpu(1), [3, 5])
    assert grad.asnumpy().tolist() == [3, 21]
    assert (x.context, x.asnumpy().tolist()) == (mx.cpu(at), [1, 2])


def test_a_node_without_a_group_follows_its_first_input_that_has_one():
    _, group = simple()
    executor = group.simple_bind(mx.cpu(0), group2ctx=GROUP, x=(2,))
    executor.arg_dict["x"][:] = 1
    assert [o.context for o in executor.forward()] == [mx.cpu(0), mx.cpu(1), mx.cpu(1)]
    assert [o.asnumpy().tolist() for o in executor.outputs] == [[3, 3], [2, 2], [3, 3]]
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((2,))] * 3)
    assert executor.grad_dict["x"].asnumpy().tolist() == [7, 7]
    assert executor.arg_dict["x"].context == mx.cpu(0)
    small = executor.reshape(x=(1,))
    assert [o.context for o in small.forward()] == [mx.cpu(0), mx.cpu(1), mx.cpu(1)]


def test_without_groups_everything_is_on_the_device_of_the_bind():
    net, _ = simple()
    for group2ctx in (None, {}, {"b": mx.cpu(1)}):
        executor = net.simple_bind(mx.cpu(2), group2ctx=group2ctx, x=(2,))
        arrays = [*executor.arg_arrays, *executor.grad_arrays, *executor.forward()]
        assert {a.context for a in arrays} == {mx.cpu(2)}
    executor = net.bind(mx.cpu(2), {"x": mx.nd.ones((2,), ctx=mx.cpu_shared())})
    assert executor.forward()[0].context == mx.cpu(2)
    with mx.cpu(3):
        assert net.simple_bind(None, x=(2,)).forward()[0].context == mx.cpu(3)


def test_composed_operators_and_variables_belong_to_groups():
    with mx.AttrScope(ctx_group="a"):
        data = mx.sym.Variable("data")
        loss = mx.sym.softmax_cross_entropy(data, mx.sym.Variable("label"))
    executor = loss.simple_bind(mx.cpu(0), group2ctx=GROUP, data=(2, 3), label=(2,))
    assert {a.context for a in executor.arg_arrays} == {mx.cpu(1)}
    assert executor.forward()[0].context == mx.cpu(1)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), 2 * np.log(3), rtol=1e-6)


def test_executors_that_share_memory_do_so_on_each_device():
    net, _ = simple()
    first = net.simple_bind(mx.cpu(0), group2ctx=GROUP, x=(64,))
    total = first.handle.pool.total
    second = net.simple_bind(mx.cpu(0), group2ctx=GROUP, shared_exec=first, x=(64,))
    assert second.handle.pool.total == total
    for executor, value in ((first, 1), (second, 2)):
        executor.arg_dict["x"][:] = value
        assert executor.forward()[0].asnumpy().tolist() == [2 * value + 1] * 64


@pytest.mark.parametrize(
    ("group2ctx", "error"),
    [
        (3, "group2ctx must be a dict"),
        ([mx.cpu(1)], "group2ctx must be a dict"),
        ({"a": 1}, "ctx must be a Context"),
        ({"a": [mx.cpu(1)]}, "ctx must be a Context"),
        ({"a": "somewhere"}, "ctx must be a device"),
        ({"a": mx.gpu(9)}, "cannot place an array on gpu"),
        ({"a": mx.Context("cpu", -1)}, "devices have the numbers 0 to"),
    ],
)
def test_what_is_no_device(group2ctx, error):
    net, _ = simple()
    for bind in (
        lambda: net.simple_bind(mx.cpu(), group2ctx=group2ctx, x=(2,)),
        lambda: net.bind(mx.cpu(), {"x": mx.nd.ones((2,))}, group2ctx=group2ctx),
    ):
        with pytest.raises((mx.error.MXNetError, TypeError), match=error):
            bind()
