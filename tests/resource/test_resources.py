"""Resources: temporary space that grows and stays, and random numbers in the order of pushes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, DeviceError, InvalidArgumentError, MXNetError
from ferromix.resource import RandomResource, ResourceRequest, TempSpace, request

engine = mx.engine


def test_kinds_have_mxnets_names_and_numbers():
    assert [(kind.name, int(kind)) for kind in ResourceRequest] == [
        ("kRandom", 0),
        ("kTempSpace", 1),
        ("kParallelRandom", 2),
    ]
    for kind in ("temp_space", "kTempSpace", 1, ResourceRequest.kTempSpace):
        found = request(mx.cpu(), kind)
        assert isinstance(found, TempSpace)
        assert (found.req, found.ctx) == (ResourceRequest.kTempSpace, mx.cpu())
    for kind in ("random", "kRandom", 0, ResourceRequest.kRandom):
        assert isinstance(request("cpu(1)", kind), RandomResource)
    with mx.cpu(2):
        assert request(None, "temp_space").ctx == mx.cpu(2)
    assert repr(request(mx.cpu(), "parallel_random")) == (
        "<RandomResource kParallelRandom of cpu(0)>"
    )


@pytest.mark.parametrize("kind", ["space", None, 3, -1, 1.0, [], "kTemp"], ids=repr)
def test_unknown_kinds_are_named(kind):
    with pytest.raises(InvalidArgumentError, match=r"there is no resource .*known: 'random'"):
        request(mx.cpu(), kind)


def test_devices_that_are_not_there_are_named():
    with pytest.raises(DeviceError, match=r"gpu\(9\)"):
        request(mx.gpu(9), "random")


def test_operations_take_the_spaces_of_a_device_in_turn():
    spaces = [request(mx.cpu(5), "temp_space") for _ in range(8)]
    assert len(set(map(id, spaces))) == 4
    assert spaces[:4] == spaces[4:]
    assert request(mx.cpu(6), "temp_space") not in spaces
    assert request(mx.cpu(1), "random") is request(mx.cpu(), "random")
    assert request(mx.cpu(), "random") is not request(mx.cpu(), "parallel_random")


def test_a_space_grows_and_stays():
    space = TempSpace(mx.cpu())
    assert space.nbytes == 0
    small = space.get_space((3, 4))
    small[:] = 1
    assert (small.shape, small.dtype, small.context) == ((3, 4), np.float32, mx.cpu())
    assert space.nbytes == 48
    for shape, dtype in (((6,), "float64"), ((48,), np.int8), ((), "int64"), ((0, 5), "float16")):
        part = space.get_space(shape, dtype)
        assert (part.shape, part.dtype) == (shape, np.dtype(dtype))
        assert part.handle.chunk == small.handle.chunk
    large = space.get_space(13)
    assert (space.nbytes, large.shape) == (52, (13,))
    large[:] = 2
    assert small.asnumpy().tolist() == [[1.0] * 4] * 3  # as long as somebody has it
    assert space.get_space((2, 2), "bfloat16").handle.dtype == "bfloat16"
    space.release()
    assert space.nbytes == 0


def test_a_space_asks_the_pool_for_nothing_once_it_is_warm():
    space = TempSpace(mx.cpu())
    space.get_space((300, 300))[:] = 0
    mx.nd.waitall()
    before = mx.storage.stats()
    for _ in range(50):
        space.get_space((300, 300))[:] = 1
    mx.nd.waitall()
    after = mx.storage.stats()
    assert after["in_use"] == before["in_use"]
    # The scalar assigned may take a block of its own; 360,000 bytes would show in the peak.
    assert after["peak"] - before["peak"] < 300_000


@pytest.mark.parametrize("shape", [(-1,), (2**40, 2**40), "x", 1.5, None], ids=repr)
def test_shapes_that_are_none_are_refused(shape):
    with pytest.raises(InvalidArgumentError):
        TempSpace(mx.cpu()).get_space(shape)


def test_operations_share_a_space_without_disturbing_each_other():
    space = TempSpace(mx.cpu())
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((7, k + 1)).astype("float32") for k in range(40)]
    arrays = [mx.nd.array(x) for x in inputs]
    outs = [mx.nd.zeros((1,)) for _ in inputs]

    def square(array, out):
        part = space.get_space(array.shape)
        part[:] = array * array
        out[:] = part.sum()

    for array, out in zip(arrays, outs):
        engine.push(
            lambda array=array, out=out: square(array, out),
            const_vars=[array],
            mutable_vars=[out, space.var],
        )
    for x, out in zip(inputs, outs):
        np.testing.assert_allclose(out.asscalar(), (x.astype("float64") ** 2).sum(), rtol=1e-5)
    assert space.nbytes == 7 * 40 * 4


def draw_in_functions(kind="random", count=12):
    """What functions draw that run when they like, each after a wait of its own."""
    rng = request(mx.cpu(), kind)
    outs = [mx.nd.zeros((5,)) for _ in range(count)]

    def work(k, out):
        threading.Event().wait((k * 7 % 5) / 1000)
        draw = rng.normal if k % 3 == 0 else rng.uniform
        draw(1.0, 2.0, out)

    for k, out in enumerate(outs):
        engine.push(lambda k=k, out=out: work(k, out), mutable_vars=[out, rng.var])
    return [out.asnumpy() for out in outs]


def test_a_seed_gives_the_same_numbers_in_the_order_of_pushes():
    for kind in ("random", "parallel_random"):
        mx.random.seed(11)
        first = draw_in_functions(kind)
        mx.random.uniform(shape=(9,))  # takes no number of the resource
        mx.random.seed(11)
        second = draw_in_functions(kind)
        np.testing.assert_array_equal(first, second)
        mx.random.seed(12)
        assert not np.array_equal(first, draw_in_functions(kind))
        assert len({tuple(row) for row in first}) == len(first)
    mx.random.seed(11, ctx=mx.cpu())
    np.testing.assert_array_equal(second, draw_in_functions(kind))


def test_a_seed_between_two_pushes_is_for_the_second():
    rng, gate = request(mx.cpu(), "random"), threading.Event()
    if engine.engine_type() == "NaiveEngine":
        gate.set()
    a, b, c = (mx.nd.zeros((4,)) for _ in range(3))

    def draw(out):
        gate.wait(60)
        rng.uniform(0, 1, out)

    mx.random.seed(3)
    for out in (a, b, c):
        if out is c:
            mx.random.seed(3)
        engine.push(lambda out=out: draw(out), mutable_vars=[out, rng.var])
    gate.set()
    np.testing.assert_array_equal(a.asnumpy(), c.asnumpy())
    assert (a.asnumpy() != b.asnumpy()).any()


def test_a_failure_before_it_loses_no_seed():
    rng, gate = request(mx.cpu(), "random"), threading.Event()
    if engine.engine_type() == "NaiveEngine":
        gate.set()

    def fail():
        gate.wait(60)
        raise OSError("disk")

    mx.random.seed(4)
    expected = rng.uniform(0, 1, mx.nd.zeros((3,))).asnumpy()
    engine.push(fail, mutable_vars=[rng.var])
    mx.random.seed(4)
    gate.set()
    with pytest.raises(OSError, match="disk"):
        engine.wait_for_all()
    np.testing.assert_array_equal(rng.uniform(0, 1, mx.nd.zeros((3,))).asnumpy(), expected)


MASK = (1 << 32) - 1


def philox(counter, key):
    """Philox4x32-10 after its publication."""
    (a, b, c, d), (first, second) = counter, key
    for _ in range(10):
        low, high = a * 0xD2511F53, c * 0xCD9E8D57
        a, b = (high >> 32) ^ b ^ first, high & MASK
        c, d = (low >> 32) ^ d ^ second, low & MASK
        first, second = (first + 0x9E3779B9) & MASK, (second + 0xBB67AE85) & MASK
    return a, b, c, d


def uniform_numbers(seed, run, count):
    words = [w for k in range(count) for w in philox((k, 0, run & MASK, run >> 32), seed)]
    return np.array([(w >> 8) / 2**24 for w in words[:count]], "float32")


@pytest.mark.parametrize("kind", list(ResourceRequest)[::2], ids=lambda kind: kind.name)
def test_numbers_are_the_documented_ones(kind):
    seed = 0x0123456789ABCDEF
    words = (seed & MASK, seed >> 32)
    first = (0x8000 + kind) << 48
    mx.random.seed(seed)
    rng = request(mx.cpu(), kind)
    for run in range(2):
        drawn = rng.uniform(0, 1, mx.nd.zeros((9,))).asnumpy()
        np.testing.assert_array_equal(drawn, uniform_numbers(words, first + run, 9))
    parts = rng.split(3)
    for k, part in enumerate(parts):
        own = philox((k, 0, (first + 2) & MASK, (first + 2) >> 32), words)[:2]
        for run in range(2):
            drawn = part.uniform(0, 1, mx.nd.zeros((5,))).asnumpy()
            np.testing.assert_array_equal(drawn, uniform_numbers(own, first + run, 5))


def test_parts_may_draw_in_any_order_and_from_threads():
    rng = request(mx.cpu(), "parallel_random")

    def drawn(order):
        mx.random.seed(21)
        parts, outs = rng.split(4), [mx.nd.zeros((6,)) for _ in range(4)]
        threads = [
            threading.Thread(target=lambda k=k: parts[k].normal(0, 1, outs[k])) for k in order
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [out.asnumpy() for out in outs]

    np.testing.assert_array_equal(drawn([0, 1, 2, 3]), drawn([3, 1, 0, 2]))
    assert rng.split(0) == []
    for wrong in (-1, 1.5, None, 2**21):
        with pytest.raises(InvalidArgumentError, match="count must be"):
            rng.split(wrong)


def test_drawing_is_ordered_like_any_operation_on_the_array():
    rng = request(mx.cpu(), "random")
    out = mx.nd.zeros((1000,), dtype="float64")
    assert rng.uniform(-2, 3, out) is out
    out += 10
    values = out.asnumpy()
    assert 8 <= values.min() < 8.1
    assert 12.9 < values.max() < 13
    values = rng.normal(5, 0.5, mx.nd.zeros((200, 50))).asnumpy()
    np.testing.assert_allclose([values.mean(), values.std()], [5, 0.5], atol=0.02)


def test_what_draws_elsewhere_keeps_its_numbers():
    rng = request(mx.cpu(), "random")
    mx.random.seed(1)
    expected = [mx.random.uniform(shape=(3,)).asnumpy() for _ in range(2)]
    mx.random.seed(1)
    first = mx.random.uniform(shape=(3,)).asnumpy()
    rng.uniform(0, 1, mx.nd.zeros((3,)))
    np.testing.assert_array_equal([first, mx.random.uniform(shape=(3,)).asnumpy()], expected)
    with pytest.raises(InvalidArgumentError):
        rng.uniform(2, 1, mx.nd.zeros((3,)))  # leaves nothing behind
    assert not np.array_equal(mx.random.uniform(shape=(3,)).asnumpy(), expected[0])


@pytest.mark.parametrize("out", [None, 3, np.zeros(3)], ids=["None", "3", "numpy"])
def test_drawing_needs_an_array(out):
    rng = request(mx.cpu(), "random")
    for draw in (rng.uniform, rng.normal):
        with pytest.raises(ArgumentTypeError, match="out must be an NDArray"):
            draw(0, 1, out)


def test_a_function_that_only_reads_the_variable_cannot_draw():
    rng, out = request(mx.cpu(), "random"), mx.nd.zeros((2,))
    engine.push(lambda: rng.uniform(0, 1, out), const_vars=[rng.var], mutable_vars=[out])
    with pytest.raises(MXNetError, match="list it among the mutable variables"):
        engine.wait_for_all()


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import ferromix as mx
import test_resources
mx.random.seed(5)
print([row.tolist() for row in test_resources.draw_in_functions()])
"""


def test_numbers_do_not_depend_on_engine_and_workers():
    program = PROGRAM.format(folder=os.path.dirname(__file__))
    said = set()
    for settings in (
        {"MXNET_ENGINE_TYPE": "NaiveEngine"},
        {"MXNET_CPU_WORKER_NTHREADS": "1", "MXNET_CUSTOM_OP_NUM_THREADS": "1"},
        {"MXNET_CPU_WORKER_NTHREADS": "3", "MXNET_CUSTOM_OP_NUM_THREADS": "16"},
    ):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    mx.random.seed(5)
    said.add(f"{[row.tolist() for row in draw_in_functions()]}\n")
    assert len(said) == 1


def test_a_child_of_a_fork_draws_what_its_parent_would():
    rng = request(mx.cpu(), "random")
    mx.random.seed(8)
    rng.uniform(0, 1, mx.nd.zeros((2,)))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writer, draw_in_functions(count=2)[1].tobytes())
            space = request(mx.cpu(), "temp_space").get_space((3,))
            space[:] = 1
            code = int(space.sum().asscalar() != 3)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found = np.frombuffer(os.read(reader, 1000), "float32")
    np.testing.assert_array_equal(found, draw_in_functions(count=2)[1])
    os.close(reader)
    os.close(writer)
