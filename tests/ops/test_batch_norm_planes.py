"""BatchNorm over planes of many sizes, beside NumPy: sums go by blocks, lanes and ends."""

import numpy as np
import pytest

import ferromix as mx

EPS = 1e-3
SHAPES = [
    (4, 3, 1),
    (3, 2, 5),
    (5, 2, 31),
    (3, 2, 4, 8),
    (70, 2, 7, 7),
    (2, 1, 45, 45),
    (3, 2, 2048),
    (2, 2, 67, 73),
    (1, 2, 1),
    (6, 5),
]
TOLERANCES = {"float64": 1e-11, "float32": 2e-5, "float16": 1e-2, "bfloat16": 8e-2}


def trained(data, head, gamma, beta, dtype, **attrs):
    """Output, statistics and gradients in float64, from values that the type can hold."""
    own = dtype if dtype in ("float32", "float64") else "float32"
    x, g = (mx.nd.array(a, dtype="float64").astype(dtype) for a in (data, head))
    small = [mx.nd.array(a, dtype=own) for a in (gamma, beta)]
    states = [mx.nd.zeros(len(gamma), dtype=own), mx.nd.ones(len(gamma), dtype=own)]
    for array in (x, *small):
        array.attach_grad()
    with mx.autograd.record():
        found = mx.nd.BatchNorm(x, *small, *states, eps=EPS, output_mean_var=True, **attrs)
    found[0].backward(g)
    arrays = [*found, x.grad, *(a.grad for a in small)]
    return [a.astype("float64").asnumpy() for a in (x, g, *arrays)]


def formula(x, g, gamma, beta, axis, fixed):
    others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)

    def wide(v):
        return np.expand_dims(v, others)

    mean, inverse = x.mean(others), 1 / np.sqrt(x.var(others) + EPS)
    scale = wide(inverse * (1 if fixed else gamma))
    normal = (x - wide(mean)) * wide(inverse)
    both = [wide(v.mean(others)) for v in (g, g * normal)]
    by_gamma = 0 * gamma if fixed else (g * normal).sum(others)
    by_data = scale * (g - both[0] - normal * both[1])
    out = scale * (x - wide(mean)) + wide(beta)
    return [out, mean, inverse, by_data, by_gamma, g.sum(others)]


def check(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, 0, tolerance * max(1, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("axis", "fixed"), [(1, False), (-1, False), (0, True)])
def test_planes(shape, axis, fixed, dtype):
    random = np.random.default_rng(7)
    gamma, beta = random.normal(size=(2, shape[axis]))
    x, g = random.normal(size=(2, *shape))
    x, g, *found = trained(x, g, gamma, beta, dtype, axis=axis, fix_gamma=fixed)
    check(found, formula(x, g, gamma, beta, axis, fixed), TOLERANCES[dtype])


@pytest.mark.parametrize("shape", [(8, 2, 1000), (8, 2, 30), (3, 2, 5000), (400, 2)], ids=str)
def test_a_mean_far_beyond_the_deviation(shape):
    """By 3000 times; and images apart by 100 times the deviation of each."""
    random = np.random.default_rng(8)
    near = random.normal(size=shape)
    images = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    for data in (near + 3000, near + 100 * images):
        one, zero, head = np.ones(2), np.zeros(2), random.normal(size=shape)
        x, g, *found = trained(data, head, one, zero, "float32", fix_gamma=False)
        expected = formula(x, g, one, zero, 1, False)
        check(found[1:3], expected[1:3], 1e-5)
        check(found[:1], expected[:1], 1e-3)


def test_no_elements():
    """Means of nothing are 0, and so are gradients."""
    for shape in ((0, 3, 2), (2, 3, 0), (0, 3)):
        x, one, zero = mx.nd.zeros(shape), mx.nd.ones(3), mx.nd.zeros(3)
        for array in (x, one, zero):
            array.attach_grad()
        with mx.autograd.record():
            y = mx.nd.BatchNorm(x, one, zero, zero.copy(), one.copy(), fix_gamma=False)
        y.backward()
        assert y.shape == shape
        assert not one.grad.asnumpy().any()
        assert not zero.grad.asnumpy().any()


@pytest.mark.parametrize("shape", [(3, 2, 2049), (2, 3, 7, 7), (8, 2, 56, 56)])
@pytest.mark.parametrize(("mean", "deviation"), [(1e6, 1), (-1e8, 1e3), (3e4, 1e-1)])
def test_a_mean_far_beyond_the_deviation_costs_no_digits(shape, mean, deviation):
    rng = np.random.default_rng(0)
    data = (mean + deviation * rng.normal(size=shape)).astype("float32")
    channels = shape[1]
    x, gamma, beta = mx.nd.array(data), mx.nd.ones(channels), mx.nd.zeros(channels)
    states = [mx.nd.zeros(channels), mx.nd.ones(channels)]
    with mx.autograd.record():
        found = mx.nd.BatchNorm(x, gamma, beta, *states, eps=1e-12, output_mean_var=True)
    others = tuple(i for i in range(len(shape)) if i != 1)
    wide = data.astype("float64")
    np.testing.assert_allclose(found[1].asnumpy(), wide.mean(others), 1e-7)
    np.testing.assert_allclose(found[2].asnumpy(), wide.std(others) ** -1.0, 1e-5)


def test_what_is_no_number_is_in_the_statistics():
    data = np.ones((4, 3, 5), "float32")
    data[1, 1, 2], data[2, 2, 0] = np.nan, np.inf
    states = [mx.nd.zeros(3), mx.nd.ones(3)]
    with mx.autograd.record():
        found = mx.nd.BatchNorm(
            mx.nd.array(data), mx.nd.ones(3), mx.nd.zeros(3), *states, output_mean_var=True
        )
    assert found[1].asnumpy()[0] == 1
    assert np.isnan(found[1].asnumpy()[1])
    assert found[1].asnumpy()[2] == np.inf
    assert np.isnan(found[2].asnumpy()[1:]).all()


@pytest.mark.parametrize("shape", [(5, 3, 7, 7), (9, 2, 33), (2, 3, 14, 14), (4, 2, 31)], ids=str)
def test_results_in_the_place_of_what_they_are_computed_from(shape):
    """Ends of rows are computed with what is before them, and that is overwritten."""
    random = np.random.default_rng(9)
    s = mx.sym.Variable("x") * 2
    net = mx.sym.BatchNorm(s, eps=EPS, fix_gamma=False, name="bn") * 3
    executor = net.simple_bind(mx.cpu(), x=shape)
    x, g = random.normal(size=(2, *shape)).astype("float32")
    gamma, beta = random.normal(size=(2, shape[1])).astype("float32")
    for name, value in {"x": x, "bn_gamma": gamma, "bn_beta": beta}.items():
        executor.arg_dict[name][:] = value
    executor.aux_dict["bn_moving_var"][:] = 1
    executor.forward(is_train=True)
    executor.backward([mx.nd.array(g)])
    expected = formula(2.0 * x, 3.0 * g, gamma, beta, 1, False)
    grads = executor.grad_dict
    found = [executor.outputs[0] / 3, grads["x"] / 2, grads["bn_gamma"], grads["bn_beta"]]
    check([a.asnumpy() for a in found], [expected[0], *expected[3:]], 2e-5)

    mean, var = random.normal(size=shape[1]), random.uniform(1, 2, shape[1])
    small = mx.nd.array(gamma), mx.nd.array(beta), mx.nd.array(mean), mx.nd.array(var)
    data = mx.nd.array(x)
    mx.nd.BatchNorm(data, *small, eps=EPS, fix_gamma=False, out=data)
    wide = [np.expand_dims(v, (0, *range(2, len(shape)))) for v in (gamma, beta, mean, var)]
    scaled = (x - wide[2]) / np.sqrt(wide[3] + EPS) * wide[0] + wide[1]
    check([data.asnumpy()], [scaled], 2e-5)
