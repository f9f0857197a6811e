"""Arrays on GPUs: copies between all devices, and memory that comes, goes and is used again."""

from __future__ import annotations

import gc
import itertools
import pickle

import numpy as np
import pytest

import ferromix as mx

from .device import EAGER, HOST, ON_WAIT, RANDOM, STARVED, races, schedule

GPU = mx.gpu(0)
OTHER = mx.gpu(1 if HOST else 0)
PLACES = [mx.cpu(), GPU, OTHER, mx.cpu_pinned()]
DTYPES = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]


@pytest.fixture(autouse=True)
def late():
    schedule(STARVED, 3)
    yield
    mx.nd.waitall()
    assert races() == ""
    schedule(EAGER)


def numbers(shape, dtype="float32"):
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7).astype(dtype)


def test_contexts():
    assert mx.gpu(0) == mx.Context("gpu", 0) != mx.gpu(1)
    assert str(mx.gpu(1)) == "gpu(1)"
    assert mx.num_gpus() >= 1
    x = mx.nd.ones((2,), ctx=OTHER)
    assert x.context == x.ctx == OTHER
    with mx.cpu():
        with GPU:
            assert mx.nd.zeros((2,)).context == GPU
            assert mx.nd.array([1]).context == GPU
        assert mx.nd.zeros((2,)).context == mx.cpu()
    assert (x + x).context == OTHER
    assert x[:1].context == OTHER


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_in_all_directions(dtype):
    values = numbers((3, 5), dtype)
    for start, end in itertools.product(PLACES, PLACES):
        x = mx.nd.array(values, ctx=start, dtype=dtype)
        made = [
            x.as_in_context(end),
            x.copyto(end),
            x.copyto(mx.nd.zeros((3, 5), ctx=end, dtype=dtype)),
            mx.nd.array(x, ctx=end, dtype=dtype),
        ]
        for y in made:
            assert y.context == end
            assert y.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(y.asnumpy(), values)
        assert (made[0] is x) == (start == end)
        assert made[1] is not x


@pytest.mark.parametrize("end", DTYPES)
@pytest.mark.parametrize("start", DTYPES)
def test_casts(start, end):
    values = numbers((11,), start)
    x = mx.nd.array(values, ctx=GPU, dtype=start)
    np.testing.assert_array_equal(x.astype(end).asnumpy(), values.astype(end))
    for place in (mx.cpu(), OTHER):
        y = mx.nd.zeros((11,), ctx=place, dtype=end)
        x.copyto(y)
        np.testing.assert_array_equal(y.asnumpy(), values.astype(end))


@pytest.mark.parametrize("place", PLACES)
def test_copies_of_views_with_gaps(place):
    values = numbers((4, 6))
    x, y = mx.nd.array(values, ctx=GPU), mx.nd.zeros((4, 6), ctx=place)
    np.testing.assert_array_equal(x.T.as_in_context(place).asnumpy(), values.T)
    np.testing.assert_array_equal(x[1:3].copyto(place).asnumpy(), values[1:3])
    y[:, 3:5] = x[:, 1:3].as_in_context(place)
    expected = np.zeros((4, 6), np.float32)
    expected[:, 3:5] = values[:, 1:3]
    np.testing.assert_array_equal(y.asnumpy(), expected)
    x[::2, ::3] = y[::2, 3:5].as_in_context(GPU)
    values[::2, ::3] = expected[::2, 3:5]
    np.testing.assert_array_equal(x.asnumpy(), values)


def test_copies_that_repeat():
    x = mx.nd.zeros((3, 4), ctx=GPU)
    x[:] = np.arange(4)
    np.testing.assert_array_equal(x.asnumpy(), np.tile(np.arange(4), (3, 1)))
    x[1:] = 7
    row = mx.nd.array([[1], [2], [3]], ctx=GPU)
    np.testing.assert_array_equal((x + row).asnumpy()[0], [1, 2, 3, 4])
    np.testing.assert_array_equal(
        row.broadcast_to((3, 4)).asnumpy(), np.repeat([[1], [2], [3]], 4, 1)
    )
    x[:] = row
    np.testing.assert_array_equal(x.asnumpy(), np.repeat([[1], [2], [3]], 4, 1))


@pytest.mark.parametrize("place", PLACES)
def test_arrays_of_no_elements_and_of_no_dimensions(place):
    with mx.util.np_shape(True):
        empty = mx.nd.zeros((0, 3), ctx=GPU).as_in_context(place)
        assert empty.shape == empty.asnumpy().shape == (0, 3)
        assert (empty + 1).as_in_context(GPU).asnumpy().size == 0
        scalar = mx.nd.array(5, ctx=GPU)
        moved = scalar.as_in_context(place)
        assert moved.shape == scalar.shape
        assert (moved * 2).as_in_context(GPU).asscalar() == 10


def test_large_arrays():
    values = np.random.default_rng(0).integers(0, 9, 3_000_017).astype(np.float32)
    x = mx.nd.array(values, ctx=GPU)
    y = x.as_in_context(OTHER)
    np.testing.assert_array_equal(y.as_in_context(mx.cpu()).asnumpy(), values)
    x[:] = values[::-1]
    np.testing.assert_array_equal(x.asnumpy(), values[::-1])


def test_pools_go_up_and_down():
    def used():
        mx.nd.waitall()
        gc.collect()
        return mx.storage.stats(GPU)["in_use"]

    before = used()
    x = mx.nd.ones((1 << 18,), ctx=GPU)
    assert used() - before == 1 << 20
    y = x[: 1 << 10]
    z = x + 1
    assert used() - before == 2 << 20
    del x
    assert used() - before == 2 << 20  # a view keeps its memory
    del y, z
    assert used() == before
    kept = mx.storage.stats(GPU)["cached"]
    GPU.empty_cache()
    # Small blocks that a worker keeps for itself go at its next call.
    assert mx.storage.stats(GPU)["cached"] <= kept - (2 << 20)


def test_what_the_driver_says_is_free():
    mx.nd.waitall()
    GPU.empty_cache()
    free, total = mx.context.gpu_memory_info(0)
    assert 0 < free <= total
    x = mx.nd.ones((1 << 20,), ctx=GPU)
    x.wait_to_read()
    if HOST:
        taken = free - mx.context.gpu_memory_info(0)[0]
        assert 4 << 20 <= taken <= (4 << 20) + 4096  # the pool aligns it
        assert mx.context.gpu_memory_info(1)[1] == total
    del x
    mx.nd.waitall()
    GPU.empty_cache()
    assert mx.context.gpu_memory_info(0)[0] >= free


@pytest.mark.parametrize("policy", [EAGER, RANDOM])
def test_memory_stays_flat(policy):
    schedule(policy, 1)
    x = mx.nd.ones((100,), ctx=GPU)

    def iterate(count):
        for step in range(count):
            y = (x + step) * 2
            y[:3] = 1
            if step % 20 == 0:  # no further ahead than this
                assert y.asnumpy()[3] == 2 * (1 + step)
        mx.nd.waitall()

    mx.nd.waitall()
    GPU.empty_cache()
    iterate(300)
    before = mx.storage.stats(GPU)
    iterate(2000)
    after = mx.storage.stats(GPU)
    assert after["in_use"] <= before["in_use"] + 1024
    assert after["in_use"] + after["cached"] <= before["in_use"] + before["cached"] + (64 << 10)
    assert after["misses"] <= before["misses"] + 32


@pytest.mark.parametrize("policy", [EAGER, ON_WAIT, RANDOM, STARVED])
def test_memory_that_is_used_again_while_streams_are_late(policy):
    """Temporaries whose memory the next operation gets, and copies of what the host changes."""
    for seed in range(15):
        schedule(policy, seed)
        start = numbers((64,))
        x, other = mx.nd.array(start, ctx=GPU), mx.nd.array(start, ctx=OTHER)
        expected, far = start.copy(), start.copy()
        for step in range(6):
            x = (x + 1) * 2 - x
            expected = (expected + 1) * 2 - expected
            other = other + x.as_in_context(OTHER)
            far = far + expected
            values = np.full(64, step, np.float32)
            x += mx.nd.array(values, ctx=GPU)
            values[:] = np.nan  # the caller's own again at once
            expected += step
        np.testing.assert_array_equal(x.asnumpy(), expected)
        np.testing.assert_array_equal(other.asnumpy(), far)
        assert races() == "", f"seed {seed}"


def test_files_keep_values(tmp_path):
    path = str(tmp_path / "arrays.params")
    arrays = {
        "a": mx.nd.array(numbers((3, 4)), ctx=GPU) + 1,
        "b": mx.nd.array(numbers((5,), "int32"), ctx=OTHER, dtype="int32"),
        "view": mx.nd.array(numbers((3, 4)), ctx=GPU)[1:],
    }
    mx.nd.save(path, arrays)
    loaded = mx.nd.load(path)
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name].asnumpy(), array.asnumpy())


def test_pickles_keep_values():
    for x in (mx.nd.array(numbers((3, 4)), ctx=GPU) * 2, mx.nd.ones((2,), ctx=OTHER)):
        y = pickle.loads(pickle.dumps(x))
        np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())
