"""BatchNorm of halves, whose parameters and statistics are float32."""

import numpy as np
import pytest

import ferromix as mx

NAMES = ["BatchNorm", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm"]


def train(name, data, head):
    """Output, gradients and running statistics."""
    attrs = {"key": "a"} if "Sync" in name else {}
    gamma, beta, mean, var = (mx.nd.array([0.5, 2.0, 1.5]) + i for i in range(4))
    inputs = [data, gamma, beta]
    for array in inputs:
        array.attach_grad()
    with mx.autograd.record():
        out = getattr(mx.nd, name)(*inputs, mean, var, fix_gamma=False, **attrs)
    out.backward(head)
    return [out, *[a.grad for a in inputs], mean, var]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_halves_give_what_float32_gives_rounded_once(name, dtype):
    random = np.random.default_rng(5)
    data, head = (mx.nd.array(random.normal(size=(4, 3, 5))).astype(dtype) for _ in range(2))
    found = train(name, data, head)
    wanted = train(name, data.astype("float32"), head.astype("float32"))
    types = [a.dtype_name for a in found]
    assert types == [dtype, dtype, *["float32"] * 4]
    for one, other in zip(found, wanted, strict=True):
        slack = 1e-2 if one.dtype_name == dtype else 1e-6
        np.testing.assert_allclose(one.astype("float32").asnumpy(), other.asnumpy(), slack, slack)
