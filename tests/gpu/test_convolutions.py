"""Convolutions by the vendor's library, beside our own kernels, against the CPU's in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import gpu

from .device import HOST, races

GPU = mx.gpu(0)
ROUNDING = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1e-2}
CASES = {
    "plain": ((2, 3, 9, 8), {"kernel": (3, 3), "num_filter": 5}),
    "pointwise": ((2, 6, 5, 7), {"kernel": (1, 1), "num_filter": 4}),
    "strided": (
        (2, 3, 11, 8),
        {"kernel": (5, 3), "stride": (3, 2), "pad": (2, 1), "num_filter": 4},
    ),
    "dilated": (
        (1, 4, 9, 9),
        {"kernel": (3, 3), "dilate": (2, 2), "pad": (2, 2), "num_filter": 6},
    ),
    "groups": ((2, 12, 6, 5), {"kernel": (3, 3), "pad": (1, 1), "num_group": 2, "num_filter": 14}),
    "line": ((2, 4, 13), {"kernel": (4,), "stride": (2,), "num_filter": 3}),
    "pointwise again": ((3, 5, 4, 7), {"kernel": (1, 1), "num_filter": 6}),
    "line of points": ((2, 5, 9), {"kernel": (1,), "num_filter": 3, "no_bias": True}),
    "solid": ((1, 3, 5, 6, 4), {"kernel": (2, 3, 2), "pad": (1, 0, 1), "num_filter": 4}),
}


def run(name, operator, context, dtype, request="write", **more):
    """The output and the gradients, in three passes: the last may be the one before again."""
    shape, attrs = CASES[name]
    net = getattr(mx.sym, operator)(mx.sym.Variable("data"), name="layer", **attrs, **more)
    shapes, outs, _ = net.infer_shape(data=shape)
    random = np.random.default_rng(1)
    names = net.list_arguments()
    values = [mx.nd.array(random.uniform(-1, 1, s), context, "float16") for s in shapes]
    heads = mx.nd.array(random.uniform(-1, 1, outs[0]), context, "float16").astype(dtype)
    args = {n: v.astype(dtype) for n, v in zip(names, values, strict=True)}
    grads = {n: mx.nd.ones(s, context, dtype) for n, s in zip(names, shapes, strict=True)}
    executor = net.bind(context, args, grads, request)
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward(heads)
    found = [executor.outputs[0], *(grads[n] for n in names)]
    return [x.astype("float64").asnumpy() for x in found]


@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("operator", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize("name", list(CASES))
def test_outputs_and_gradients(name, operator, dtype):
    found = run(name, operator, GPU, dtype)
    expected = run(name, operator, mx.cpu(), "float64")
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING[dtype] * np.abs(b).max(), err_msg=i)
    assert races() == ""


def test_gradients_are_added():
    found = run("strided", "Convolution", GPU, "float32", "add")
    expected = run("strided", "Convolution", mx.cpu(), "float64", "add")
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=4e-6 * np.abs(b).max())


@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("operator", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize("name", ["pointwise again", "line of points"])
def test_kernels_of_one_element_are_products(name, operator, dtype, request_, monkeypatch):
    """Without a library of convolutions, by the one of matrices."""
    limits = replace(gpu.limits(0), plan_convolution=None)
    monkeypatch.setattr(gpu, "limits", lambda number: limits)
    # Recipes are kept by shapes and attributes: some that no other test has.
    more = {"workspace": 77}
    found = run(name, operator, GPU, dtype, request_, **more)
    expected = run(name, operator, mx.cpu(), "float64", request_, **more)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=3 * ROUNDING[dtype] * np.abs(b).max())
    assert races() == ""


@pytest.mark.parametrize("tune", ["fastest", "limited_workspace"])
def test_algorithms_that_were_timed(tune):
    found = run("dilated", "Convolution", GPU, "float32", cudnn_tune=tune)
    expected = run("dilated", "Convolution", mx.cpu(), "float64")
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=4e-6 * np.abs(b).max())


@pytest.mark.skipif(not HOST, reason="only the stand-in tells")
def test_attributes_and_a_variable_choose(monkeypatch):
    asked = []

    def plan(*problem):
        asked.append(problem[-2:])

    limits = replace(gpu.limits(0), plan_convolution=plan)
    monkeypatch.setattr(gpu, "limits", lambda number: limits)
    x, w = mx.nd.ones((1, 1, 4, 6), GPU), mx.nd.ones((1, 1, 3, 3), GPU)

    def convolve(**attrs):
        mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=1, no_bias=True, **attrs)
        return asked.pop() if asked else None

    assert convolve(pad=(1, 1)) == (False, 1024 << 20)
    assert convolve(pad=(2, 1), workspace=3, cudnn_tune="limited_workspace") == (True, 3 << 20)
    assert convolve(pad=(1, 2), cudnn_tune="fastest") == (True, 2**62)
    assert convolve(pad=(2, 2), cudnn_off=True) is None
    assert convolve(pad=(3, 3), workspace=2**60) == (False, 2**62)
    monkeypatch.setenv("MXNET_CUDNN_AUTOTUNE_DEFAULT", "1")
    assert convolve(pad=(3, 2)) == (True, 1024 << 20)
    assert convolve(pad=(2, 3), cudnn_tune="off") == (False, 1024 << 20)


@pytest.mark.skipif(not HOST, reason="a GPU may be without cuDNN")
def test_a_plan_says_how_much_memory_it_takes():
    mx.nd.ones((1,), GPU).wait_to_read()
    shapes, steps = ([1, 2, 5, 5], [3, 2, 3, 3], [1, 3, 3, 3]), ([1, 1], [1, 1], [0, 0])
    plan = gpu.limits(0).plan_convolution
    assert plan is not None
    found = plan("", "float32", shapes, steps, 1, True, 1 << 20)
    assert found is not None
    assert found.workspace == 4096
    assert "Forward" in repr(found)
    # Too little room, a shape that is none, and an output of another shape.
    assert plan("", "float32", shapes, steps, 1, True, 64) is None
    assert plan("", "float32", ([0, 2, 5, 5], *shapes[1:]), steps, 1, True, 1 << 20) is None
    assert plan("weight_", "float32", (*shapes[:2], [1, 3, 4, 3]), steps, 1, True, 1 << 20) is None


PROGRAM = """
import numpy as np
import ferromix as mx
net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=2, name="layer")
executor = net.simple_bind(mx.gpu(0), data=(1, 2, 5, 5))
for array in executor.arg_dict.values():
    array[:] = 1
executor.forward(is_train=True)
print(executor.outputs[0].asnumpy().sum())
"""


@pytest.mark.parametrize("setting", ["0", "1"])
def test_our_own_kernels_take_its_place(setting):
    more = {"FERROMIX_GPU_CUDNN": setting, "FERROMIX_GPU_FALLBACK_LOG": "0"}
    more |= {"FERROMIX_GPU_DRIVER": "host"} if HOST else {}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | more, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 2 * 9 * (2 * 9 + 1)


def test_without_the_library_it_says_so_once(monkeypatch):
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")
    monkeypatch.setattr(type(gpu._toolkit()), "convolutions", lambda self: None)
    gpu._has_convolutions.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="no cuDNN; install nvidia-cudnn-cu12"):
            assert not gpu._has_convolutions()
        assert not gpu._has_convolutions()
    finally:
        gpu._has_convolutions.cache_clear()
