"""`out` and `ctx` of functions without inputs: what they decide, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DeviceError, InvalidArgumentError

nd = mx.nd


def sevens(*shape, dtype="float32"):
    return nd.full(shape, 7, dtype=dtype)


FILLED = {
    "zeros": (lambda **kw: nd.zeros((2, 3), **kw), 0),
    "ones": (lambda **kw: nd.ones((2, 3), **kw), 1),
    "full": (lambda **kw: nd.full((2, 3), 4, **kw), 4),
    "zeros of an open shape": (lambda **kw: nd.zeros(None, **kw), 0),
    "ones of an open axis": (lambda **kw: nd.ones((-1, 3), **kw), 1),
    "ones of open axes": (lambda **kw: nd.ones((0, 0), **kw), 1),
    "zeros of no axes": (lambda **kw: nd.zeros((), **kw), 0),
    "_zeros": (nd._zeros, 0),
    "_ones": (nd._ones, 1),
    "_full": (lambda **kw: nd._full(value=3, **kw), 3),
    "_full of an open axis": (lambda **kw: nd._full(shape=(0, 3), value=3, **kw), 3),
}


@pytest.mark.parametrize(("fill", "value"), FILLED.values(), ids=FILLED)
def test_out_is_filled_and_returned(fill, value):
    out = sevens(2, 3)
    assert fill(out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), value))


def test_ranges_into_out():
    # MXNet 1.9.1 gives these numbers.
    out = sevens(4)
    assert nd._arange(start=1, stop=9, step=2, out=out) is out
    assert out.asnumpy().tolist() == [1, 3, 5, 7]
    out = sevens(2, 3, dtype="int32")
    assert nd.eye(2, 3, k=1, dtype="int32", out=out) is out
    assert out.asnumpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    out = sevens(3)
    assert nd._linspace(start=0, stop=1, num=3, out=out) is out
    assert out.asnumpy().tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    "fill",
    [
        lambda out: nd.zeros((3, 2), out=out),
        lambda out: nd.ones((2, 3, 1), out=out),
        lambda out: nd.ones((2, 3), dtype="int32", out=out),
        lambda out: nd.ones((2, 3), out=out.astype("float64")),
        lambda out: nd._full(shape=(2,), value=1, out=out),
        lambda out: nd._ones(dtype="float64", out=out),
        lambda out: nd._arange(start=0, stop=5, out=out),
        lambda out: nd.eye(3, out=out),
        lambda out: nd.random_uniform(shape=(3, 2), out=out),
        lambda out: nd.random_normal(dtype="float64", out=out),
        lambda out: nd.random.uniform(shape=(3, 2), out=out),
        lambda out: mx.random.normal(dtype="float16", out=out),
        lambda out: nd.random_uniform(out=out.astype("int32")),
    ],
)
def test_an_out_that_does_not_fit_is_refused_and_kept(fill):
    out = sevens(2, 3)
    with pytest.raises(InvalidArgumentError, match=r"must be .* got|not supported"):
        fill(out)
    assert (out.asnumpy() == 7).all()


DRAWS = {
    "random_uniform": nd.random_uniform,
    "uniform": nd.uniform,
    "random_normal": nd.random_normal,
    "normal": nd.normal,
    "nd.random.uniform": nd.random.uniform,
    "nd.random.normal": nd.random.normal,
    "random.uniform": mx.random.uniform,
    "random.normal": mx.random.normal,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_out_gives_random_numbers_shape_and_type(draw, dtype):
    out = sevens(2, 50, dtype=dtype)
    mx.random.seed(3)
    assert draw(out=out) is out
    mx.random.seed(3)
    np.testing.assert_array_equal(out.asnumpy(), draw(shape=(2, 50), dtype=dtype).asnumpy())
    assert len(np.unique(out.asnumpy())) > 50


def test_out_with_other_arguments():
    out = sevens(100)
    nd.random_uniform(2, 3, out=out)
    assert ((out.asnumpy() >= 2) & (out.asnumpy() < 3)).all()
    nd.random_normal(loc=100, shape=(0,), out=[out])
    assert out.asnumpy().mean() > 90


def test_the_default_shape_of_random_numbers_is_one():
    assert nd.random.uniform().shape == mx.random.normal().shape == (1,)


@pytest.mark.parametrize("out", [3, "x", [], [sevens(2), sevens(2)], np.ones(2)], ids=repr)
def test_an_out_that_is_no_array(out):
    for fill in (nd.zeros, nd.ones, nd._ones, nd.random_uniform, nd.random.normal):
        with pytest.raises(TypeError, match="out must be an NDArray, got"):
            fill(shape=(2,), out=out)
    with pytest.raises(TypeError, match="full: out must be an NDArray, got"):
        nd.full((2,), 1, out=out)


def test_unknown_arguments_are_refused():
    for call in (nd.zeros, nd.ones, nd.eye):
        with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
            call(2, foo=3)
    with pytest.raises(InvalidArgumentError, match="unknown attribute 'foo'"):
        nd.random.uniform(foo=3)


CONTEXTS = [
    (None, mx.cpu()),
    (mx.cpu(), mx.cpu()),
    (mx.cpu(1), mx.cpu(1)),
    ("cpu(2)", mx.cpu(2)),
    ("cpu(0)", mx.cpu()),
    ("cpu", mx.cpu()),
    (mx.cpu_shared(), mx.cpu_shared()),
    ("cpu_shared(0)", mx.cpu_shared()),
]

PLACES = {
    "zeros": lambda ctx: nd.zeros((2,), ctx),
    "ones": lambda ctx: nd.ones((2,), ctx=ctx),
    "full": lambda ctx: nd.full((2,), 1, ctx=ctx),
    "empty": lambda ctx: nd.empty((2,), ctx),
    "array": lambda ctx: nd.array([1, 2], ctx),
    "array of an array": lambda ctx: nd.array(nd.ones((2,)), ctx),
    "arange": lambda ctx: nd.arange(2, ctx=ctx),
    "linspace": lambda ctx: nd.linspace(0, 1, 2, ctx=ctx),
    "eye": lambda ctx: nd.eye(2, ctx=ctx),
    "_ones": lambda ctx: nd._ones(shape=(2,), ctx=ctx),
    "_full by position": lambda ctx: nd._full((2,), ctx, "float32", 3),
    "random_uniform": lambda ctx: nd.random_uniform(0, 1, (2,), ctx),
    "random_normal": lambda ctx: nd.random_normal(shape=(2,), ctx=ctx),
    "nd.random.uniform": lambda ctx: nd.random.uniform(shape=(2,), ctx=ctx),
    "random.normal": lambda ctx: mx.random.normal(shape=(2,), ctx=ctx),
}


@pytest.mark.parametrize(("ctx", "place"), CONTEXTS, ids=str)
@pytest.mark.parametrize("name", PLACES)
def test_contexts_as_objects_and_names(name, ctx, place):
    assert PLACES[name](ctx).context == place


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    "wrong",
    ["foo", "cpu(x)", "cpu(0", "gpu(9)", mx.gpu(9), "cpu_shared(-1)", 3, [mx.cpu()]],
    ids=str,
)
def test_what_is_no_context_is_refused(name, wrong):
    with pytest.raises((ValueError, DeviceError), match=r"ctx|cannot place an array on|context"):
        PLACES[name](wrong)


def test_an_operator_with_inputs_takes_a_context():
    for ctx in (mx.cpu(), "cpu(0)", None):
        found = nd.contrib.arange_like(nd.zeros((2,)), ctx=ctx)
        assert found.asnumpy().tolist() == [0, 1]
        assert nd.random_uniform(shape=(2,), ctx=ctx).shape == (2,)


def test_functions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(nd.random_uniform)) is nd.random_uniform
    assert pickle.loads(pickle.dumps(nd._ones)) is nd._ones


def test_full_of_what_broadcasts():
    for row in ([1, 2, 3], np.array([1, 2, 3]), nd.array([1, 2, 3]), nd.array([[1, 2, 3]])):
        assert nd.full((2, 3), row).asnumpy().tolist() == [[1, 2, 3]] * 2
    assert nd.full((2,), "3").asnumpy().tolist() == [3, 3]
    with pytest.raises(InvalidArgumentError, match="cannot put str"):
        nd.full((2,), "x")


@pytest.mark.parametrize(
    ("shape", "found"), [("(2,3)", (2, 3)), ("3", (3,)), ("23", (23,)), ([2, 3], (2, 3)), (3, (3,))]
)
def test_spellings_of_shapes(shape, found):
    assert nd.zeros(shape).shape == nd.empty(shape).shape == found


@pytest.mark.parametrize("shape", [2.0, (2.5, 3), (2.0,), True, (True,), None, "x", {}, (2**70,)])
def test_what_is_no_shape(shape):
    with pytest.raises(InvalidArgumentError, match=r"a shape (must be ints|of .* is more)"):
        nd.zeros(shape)


def test_arange_ignores_infer_range():
    with pytest.warns(DeprecationWarning, match="infer_range"):  # as MXNet 1.9.1 warns
        found = nd.arange(0, 4, 1, 2, False, None, "int32")
    assert found.asnumpy().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    with pytest.warns(DeprecationWarning, match="infer_range"):
        assert nd.arange(3, infer_range=True).asnumpy().tolist() == [0, 1, 2]


def test_storage_types():
    assert nd.zeros((2,), stype="default").shape == nd.empty((2,), stype="default").shape == (2,)
    for make in (nd.zeros, nd.empty):
        assert make((2, 3), stype="csr").stype == "csr"
        with pytest.raises(InvalidArgumentError, match="unknown storage type 'dense'"):
            make((2,), stype="dense")
