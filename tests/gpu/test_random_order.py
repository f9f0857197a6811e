"""Whose random numbers operators on a GPU take, and how many: their device's, as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

GPU = mx.gpu(0)


def dropout(context, size=32):
    executor = mx.sym.Dropout(mx.sym.Variable("data"), p=0.5).simple_bind(context, data=(size,))
    executor.arg_dict["data"][:] = 1
    return executor


def mask(executor, is_train=True):
    return executor.forward(is_train=is_train)[0].asnumpy()


def drawn(context, size=32):
    with mx.autograd.record():
        return mx.nd.Dropout(mx.nd.ones((size,), ctx=context), p=0.5).asnumpy()


def test_graphs_and_calls_take_turns():
    """No mask is drawn twice, and all are the CPU's."""
    found = []
    for context in (GPU, mx.cpu()):
        executor = dropout(context)
        mx.random.seed(3)
        masks = [run for _ in range(2) for run in (mask(executor), drawn(context))]
        assert len({m.tobytes() for m in masks}) == 4
        found.append(masks)
    np.testing.assert_array_equal(*found)


def test_a_graph_has_the_seed_of_its_device():
    executor = dropout(GPU)
    mx.random.seed(9, ctx=GPU)
    first = mask(executor)
    mx.random.seed(9, ctx=GPU)
    np.testing.assert_array_equal(mask(executor), first)
    mx.random.seed(9, ctx=mx.cpu())
    assert (mask(executor) != first).any()


def test_a_graph_on_a_gpu_leaves_the_numbers_of_the_cpu_alone():
    mx.random.seed(4)
    expected = mx.nd.random.uniform(shape=(4,), ctx=mx.cpu()).asnumpy()
    mx.random.seed(4)
    mask(dropout(GPU))
    found = mx.nd.random.uniform(shape=(4,), ctx=mx.cpu()).asnumpy()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bound", [False, True])
def test_runs_that_drop_nothing_count(bound):
    """In prediction, as on the CPU, and within a captured graph."""
    found = []
    for context in (GPU, mx.cpu()):
        executor, x = dropout(context), mx.nd.ones((8,), ctx=context)
        mx.random.seed(5)
        for is_train in (True, False, False, False, True):
            if bound:
                found.append(mask(executor, is_train)[:8])
            else:
                with mx.autograd.record(train_mode=is_train):
                    found.append(mx.nd.Dropout(x, p=0.5).asnumpy())
        found.append(mx.nd.random.uniform(shape=(8,), ctx=context).asnumpy())
    np.testing.assert_array_equal(found[:6], found[6:])


def test_a_graph_across_devices_takes_numbers_of_each():
    with mx.AttrScope(ctx_group="there"):
        x = mx.sym.Dropout(mx.sym.Variable("data"), p=0.5, name="first")
    with mx.AttrScope(ctx_group="here"):
        y = mx.sym.Dropout(mx.sym.Variable("more"), p=0.5, name="second")
    net = mx.sym.Group([x, y])
    groups = {"there": GPU, "here": mx.cpu()}
    executor = net.simple_bind(GPU, group2ctx=groups, data=(32,), more=(32,))
    for array in executor.arg_dict.values():
        array[:] = 1
    mx.random.seed(6)
    first, second = (o.asnumpy() for o in executor.forward(is_train=True))
    mx.random.seed(6)
    np.testing.assert_array_equal(first, drawn(GPU))
    np.testing.assert_array_equal(second, drawn(mx.cpu()))
