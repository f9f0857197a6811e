"""Views with gaps that operators change, and arrays without elements, on GPUs as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

STEPS = {
    "sgd_mom_update": (1, {"lr": 0.5, "momentum": 0.9}),
    "nag_mom_update": (1, {"lr": 0.5, "momentum": 0.9}),
    "adam_update": (2, {"lr": 0.5}),
    "rmsprop_update": (1, {"lr": 0.5}),
    "ftrl_update": (2, {"lr": 0.5}),
    "ftml_update": (3, {"lr": 0.5, "t": 2}),
}


def on_both(run):
    """What `run` gives of arrays on either device."""
    return [[np.array(x.asnumpy()) for x in run(device)] for device in (mx.cpu(), mx.gpu(0))]


def same(run):
    first, second = on_both(run)
    for a, b in zip(first, second, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
    assert races() == ""


@pytest.mark.parametrize("view", [np.s_[:, ::2], np.s_[:, ::-2], np.s_[:, 1::2]])
@pytest.mark.parametrize("name", STEPS)
def test_states_that_are_views(name, view):
    count, attrs = STEPS[name]

    def run(device):
        random = np.random.default_rng(4)

        def draw(*shape):
            return mx.nd.array(random.uniform(0.1, 1, shape), ctx=device)

        tables = [draw(2, 6) for _ in range(count)]
        weight, grad = draw(2, 3), draw(2, 3)
        for _ in range(3):
            states = [table[view] for table in tables]
            getattr(mx.nd, name)(weight, grad, *states, out=weight, **attrs)
        return [weight, *tables]

    same(run)


def test_a_weight_and_a_state_that_are_views_of_a_bound_graph():
    net = mx.sym.sgd_mom_update(*map(mx.sym.Variable, "wgm"), lr=0.1, momentum=0.5)

    def run(device):
        def ones():
            return mx.nd.ones((2, 6), ctx=device)[:, ::2]

        arrays, state = {"w": ones(), "g": ones()}, ones()
        executor = net.bind(device, arrays, aux_states={"m": state})
        return [*[executor.forward()[0].copy() for _ in range(4)], state]

    same(run)


def test_no_anchors_have_targets():
    def run(device):
        boxes = mx.nd.array(np.random.default_rng(1).random((2, 2, 5)), ctx=device)
        anchors, scores = mx.nd.zeros((1, 0, 4), ctx=device), mx.nd.zeros((2, 2, 0), ctx=device)
        return mx.nd.contrib.MultiBoxTarget(anchors, boxes, scores)

    same(run)


@pytest.mark.parametrize(
    ("shape", "axes"), [((0, 2), (0,)), ((2, 0), (1,)), ((0,), (0,)), ((3, 2), (0,))]
)
def test_dropout_of_nothing(shape, axes):
    same(lambda d: [mx.nd.Dropout(mx.nd.ones(shape, ctx=d), p=0.0, axes=axes, mode="always")])


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 0, 3), (2, 0, 0), (2, 3, 0), (0, 3, 2)])
def test_norms_of_nothing(shape):
    def run(device):
        given = [mx.nd.ones(s, ctx=device) for s in (shape, (shape[1],), (shape[1],))]
        for array in given:
            array.attach_grad()
        with mx.autograd.record():
            out = mx.nd.InstanceNorm(*given)
        out.backward()
        return [out, *[array.grad for array in given]]

    same(run)

    def norm(device):
        x, one = (mx.nd.ones(s, ctx=device) for s in (shape, shape[-1:]))
        return mx.nd.LayerNorm(x, one, one, output_mean_var=True)

    same(norm)
