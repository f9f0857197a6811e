"""Memory of GPUs that other libraries use too: without copies, in order, and for long enough."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DeviceError, DTypeError, InvalidArgumentError, MXNetError

from .device import EAGER, HOST, ON_WAIT, RANDOM, STARVED, driver, schedule

pytestmark = pytest.mark.skipif(not HOST, reason="plays another library on the stand-in's driver")

GPU = mx.gpu(0)
LATE = [EAGER, ON_WAIT, RANDOM, STARVED]
U64 = ctypes.c_uint64
NON_BLOCKING = 1


@pytest.fixture(autouse=True)
def eager_afterwards():
    mx.nd.ones((1,), ctx=GPU).wait_to_read()
    yield
    mx.nd.waitall()
    schedule(EAGER)


class Library:
    """Another user of the driver, with a stream of its own."""

    def __init__(self, number: int = 0) -> None:
        self.driver, self.number = driver(), number
        self.enter()
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        self.stream = stream.value

    def call(self, name: str, *args) -> None:
        assert getattr(self.driver, name)(*args) == 0, name

    def enter(self) -> None:
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.number)
        self.call("cuCtxSetCurrent", context)

    def alloc(self, size: int) -> int:
        self.enter()
        address = U64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        self.enter()
        self.call("cuMemFree_v2", U64(address))

    def write(self, address: int, values: np.ndarray, stream: int | None = None) -> None:
        """Enqueues a write; the values must be kept."""
        self.enter()
        self.call(
            "cuMemcpyHtoDAsync_v2",
            *(U64(address), ctypes.c_void_p(values.ctypes.data)),
            *(ctypes.c_size_t(values.nbytes), ctypes.c_void_p(stream or self.stream)),
        )

    def read(self, address: int, count: int, stream: int | None = None) -> np.ndarray:
        """The values there, of float32, once the stream has come so far."""
        self.enter()
        found = np.full(count, np.nan, np.float32)
        stream = stream or self.stream
        self.call(
            "cuMemcpyDtoHAsync_v2",
            *(ctypes.c_void_p(found.ctypes.data), U64(address)),
            *(ctypes.c_size_t(found.nbytes), ctypes.c_void_p(stream)),
        )
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))
        return found


@pytest.fixture(scope="module")
def library():
    mx.nd.ones((1,), ctx=GPU).wait_to_read()
    return Library()


class Owner:
    """An array of that library: it has ``__cuda_array_interface__`` and nothing else."""

    def __init__(self, library: Library, values: np.ndarray, **more) -> None:
        self.library, self.values = library, np.ascontiguousarray(values)
        self.address = library.alloc(max(self.values.nbytes, 1))
        if self.values.size:
            library.write(self.address, self.values)
        self.interface = {
            "version": 3,
            "shape": values.shape,
            "typestr": values.dtype.str,
            "strides": None,
            "data": (self.address, False),
            "stream": library.stream,
            **more,
        }

    @property
    def __cuda_array_interface__(self):
        return self.interface

    def __del__(self):
        self.library.free(self.address)


def numbers(*shape):
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


def test_fields():
    x = mx.nd.array(numbers(3, 4), ctx=GPU)
    found = x.__cuda_array_interface__
    assert found["version"] == 3
    assert found["shape"] == (3, 4)
    assert found["typestr"] == "<f4"
    assert found["strides"] == (16, 4)
    assert found["data"][1] is False
    assert found["stream"] not in (None, 0)
    assert x[1].__cuda_array_interface__["data"][0] == found["data"][0] + 16
    with mx.util.np_shape(True):
        assert mx.nd.zeros((0, 2), ctx=GPU).__cuda_array_interface__["data"][0] == 0


@pytest.mark.parametrize("dtype", ["float64", "float16", "uint8", "int8", "int32", "int64", "bool"])
def test_types(dtype):
    x = mx.nd.ones((2,), ctx=GPU, dtype=dtype)
    assert x.__cuda_array_interface__["typestr"] == np.dtype(dtype).str
    y = mx.nd.from_dlpack(x)
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(y.asnumpy(), np.ones(2, dtype))


def test_arrays_that_have_no_interface():
    host = mx.nd.ones((2,), ctx=mx.cpu())
    for x in (host, mx.nd.ones((2,), ctx=GPU, dtype="bfloat16")):
        assert not hasattr(x, "__cuda_array_interface__")
    assert not hasattr(mx.nd.ones((2, 2), ctx=GPU).tostype("csr"), "__cuda_array_interface__")


@pytest.mark.parametrize("policy", LATE)
def test_the_given_stream_sees_what_was_pushed_before(library, policy):
    for seed in range(10):
        schedule(policy, seed)
        x = mx.nd.array(numbers(8), ctx=GPU)
        y = (x + 1) * 2
        found = y.__cuda_array_interface__
        values = library.read(found["data"][0], 8, found["stream"])
        np.testing.assert_array_equal(values, (numbers(8) + 1) * 2)


@pytest.mark.parametrize("policy", LATE)
def test_the_caller_s_stream_waits_where_dlpack_names_it(library, policy):
    for seed in range(10):
        schedule(policy, seed)
        y = (mx.nd.array(numbers(8), ctx=GPU) + 1) * 2
        capsule = y.__dlpack__(stream=library.stream)
        address = y.__cuda_array_interface__["data"][0]
        np.testing.assert_array_equal(library.read(address, 8), (numbers(8) + 1) * 2)
        del capsule


@pytest.mark.parametrize("policy", LATE)
def test_what_others_wrote_on_their_stream_is_seen(library, policy):
    for seed in range(10):
        schedule(policy, seed)
        owner = Owner(library, numbers(8))
        x = mx.nd.from_dlpack(owner)
        assert x.context == GPU
        y = x + 1
        np.testing.assert_array_equal(y.asnumpy(), numbers(8) + 1)


def test_writes_go_through_both_ways(library):
    owner = Owner(library, numbers(2, 3))
    x = mx.nd.from_dlpack(owner)
    x += 1
    x.wait_to_read()
    np.testing.assert_array_equal(library.read(owner.address, 6), numbers(6) + 1)
    assert x.__cuda_array_interface__["data"][0] == owner.address
    y = mx.nd.ones((4,), ctx=GPU)
    again = mx.nd.from_dlpack(y)
    again[:] = 5
    again.wait_to_read()
    assert y.asnumpy().tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("capsule", [True, False])
def test_dlpack_within_one_process(capsule):
    x = mx.nd.array(numbers(3, 4), ctx=mx.gpu(1))
    assert x.__dlpack_device__() == (2, 1)
    y = mx.nd.from_dlpack(mx.nd.to_dlpack_for_write(x) if capsule else x)
    assert y.context == mx.gpu(1)
    y *= 2
    y.wait_to_read()
    np.testing.assert_array_equal(x.asnumpy(), 2 * numbers(3, 4))
    copied = mx.nd.from_dlpack(x.__dlpack__(copy=True))
    copied[:] = 0
    copied.wait_to_read()
    np.testing.assert_array_equal(x.asnumpy(), 2 * numbers(3, 4))
    view = mx.nd.from_dlpack(x.T)
    np.testing.assert_array_equal(view.asnumpy(), 2 * numbers(3, 4).T)


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_streams_that_dlpack_numbers(stream):
    x = mx.nd.array(numbers(4), ctx=GPU)
    capsule = x.__dlpack__(stream=stream)
    np.testing.assert_array_equal(mx.nd.from_dlpack(capsule).asnumpy(), numbers(4))


def test_strides_and_read_only_memory(library):
    owner = Owner(library, numbers(3, 4), shape=(4, 3), strides=(4, 16))
    x = mx.nd.from_dlpack(owner)
    np.testing.assert_array_equal(x.asnumpy(), numbers(3, 4).T)
    owner = Owner(library, numbers(4))
    owner.interface["data"] = (owner.address, True)
    x = mx.nd.from_dlpack(owner)
    assert (x + 1).asnumpy().tolist() == [2, 3, 4, 5]
    assert x.__cuda_array_interface__["data"][1] is True
    with pytest.raises(MXNetError, match="read-only"):
        x += 1
    with pytest.raises(BufferError, match="read-only"):
        mx.nd.to_dlpack_for_read(x)
    y = mx.nd.from_dlpack(x)  # a capsule of version 1 says it
    with pytest.raises(MXNetError, match="read-only"):
        y[:] = 0


def test_arrays_of_no_elements_and_of_no_dimensions(library):
    with mx.util.np_shape(True):
        owner = Owner(library, numbers(0, 3))
        owner.interface["data"] = (0, False)
        assert mx.nd.from_dlpack(owner).asnumpy().shape == (0, 3)
        assert mx.nd.from_dlpack(Owner(library, np.float32(7).reshape(()))).asnumpy() == 7


def test_an_owner_is_kept_until_its_memory_is_not_used(library):
    schedule(STARVED, 1)
    owner = Owner(library, numbers(8))
    alive = weakref.ref(owner)
    x = mx.nd.from_dlpack(owner)
    del owner
    gc.collect()
    assert alive() is not None
    y = x + 1
    del x
    np.testing.assert_array_equal(y.asnumpy(), numbers(8) + 1)
    mx.nd.waitall()
    mx.nd.from_dlpack(Owner(library, numbers(1))).wait_to_read()  # owners are told at the next call
    gc.collect()
    assert alive() is None


def test_a_capsule_keeps_our_memory():
    x = mx.nd.array(numbers(1 << 12), ctx=GPU)
    before = mx.storage.stats(GPU)["in_use"]
    capsule = x.__dlpack__()
    del x
    mx.nd.waitall()
    assert mx.storage.stats(GPU)["in_use"] == before
    np.testing.assert_array_equal(mx.nd.from_dlpack(capsule).asnumpy(), numbers(1 << 12))
    with pytest.raises(InvalidArgumentError):
        mx.nd.from_dlpack(capsule)
    del capsule
    mx.nd.waitall()
    gc.collect()
    assert mx.storage.stats(GPU)["in_use"] <= before - (1 << 14)


def test_memory_of_the_other_gpu():
    library = Library(1)
    mx.nd.ones((1,), ctx=mx.gpu(1)).wait_to_read()
    x = mx.nd.from_dlpack(Owner(library, numbers(4)))
    assert x.context == mx.gpu(1)
    np.testing.assert_array_equal((x + 1).as_in_context(GPU).asnumpy(), numbers(4) + 1)


@pytest.mark.parametrize(
    ("more", "kind", "message"),
    [
        ({"mask": object()}, InvalidArgumentError, "mask"),
        ({"strides": (3,)}, InvalidArgumentError, "strides of"),
        ({"typestr": "<c8"}, InvalidArgumentError, "complex64"),
        ({"typestr": ">f4"}, DTypeError, "another byte order"),
        ({"typestr": "what"}, InvalidArgumentError, "typestr"),
        ({"shape": (-1,)}, InvalidArgumentError, "an extent must be an int >= 0"),
        ({"shape": None}, InvalidArgumentError, "shape"),
        ({"data": 5}, InvalidArgumentError, "data"),
        ({"stream": 0}, InvalidArgumentError, "stream"),
    ],
)
def test_interfaces_that_make_no_sense(library, more, kind, message):
    with pytest.raises(kind, match=message):
        mx.nd.from_dlpack(Owner(library, numbers(4), **more))
    assert (mx.nd.ones((2,), ctx=GPU) + 1).asnumpy().tolist() == [2, 2]


def test_addresses_on_no_gpu(library):
    owner, host = Owner(library, numbers(4)), numbers(4)
    owner.interface["data"] = (host.ctypes.data, False)
    with pytest.raises((DeviceError, InvalidArgumentError), match=r"address|Pointer"):
        mx.nd.from_dlpack(owner)


def test_devices_that_dlpack_cannot_go_to():
    x = mx.nd.ones((2,), ctx=GPU)
    with pytest.raises(BufferError, match=r"device \(2, 0\), not on \(1, 0\)"):
        x.__dlpack__(dl_device=(1, 0))
    with pytest.raises((RuntimeError, BufferError)):
        np.from_dlpack(x)
    with pytest.raises(InvalidArgumentError, match="the CPU has no streams"):
        mx.nd.ones((2,), ctx=mx.cpu()).__dlpack__(stream=1)
