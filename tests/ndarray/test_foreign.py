"""Memory that NumPy and others share with arrays: right values, right order, right ends."""

from __future__ import annotations

import ctypes
import gc
import io
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix import nd

TYPES = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]


def values(dtype: str, shape: tuple[int, ...] = (2, 3)) -> np.ndarray:
    count = int(np.prod(shape, dtype=int))
    return (np.arange(count) % (2 if dtype == "bool" else 100)).astype(dtype).reshape(shape)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def settle() -> None:
    """Lets what was given up be told: the interpreter does so when it next can."""
    gc.collect()
    nd.waitall()
    for _ in range(3):
        ctypes.pythonapi.Py_MakePendingCalls()


class TestFromNumpy:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("shape", [(2, 3), (), (0, 2), (5,), (1, 2, 3, 4)])
    def test_the_memory_is_the_same(self, dtype, shape):
        source = values(dtype, shape)
        array = nd.from_numpy(source)
        assert (array.shape, np.dtype(array.dtype)) == (shape, source.dtype)
        np.testing.assert_array_equal(array.asnumpy(), source)
        if source.size:
            assert address(np.asarray(array)) == address(source)
        assert not source.flags.writeable

    def test_writes_are_seen_on_both_sides(self):
        source = np.zeros(1000, np.float32)
        seen = source[:]
        array = nd.from_numpy(source)
        for _ in range(10):
            array += 1
        array[3:5] = 7
        array.wait_to_read()
        np.testing.assert_array_equal(source[:6], [10, 10, 10, 7, 7, 10])
        seen[0] = -1
        assert array[0].asscalar() == -1

    def test_a_copy_has_memory_of_its_own(self):
        source = values("float32")
        array = nd.from_numpy(source, zero_copy=False)
        array += 1
        assert source.flags.writeable
        np.testing.assert_array_equal(source, values("float32"))
        np.testing.assert_array_equal(array.asnumpy(), source + 1)

    @pytest.mark.parametrize("source", [values("float32").T, values("int32")[:, ::2]])
    def test_only_c_order_can_be_used_in_place(self, source):
        with pytest.raises(ValueError, match="C order"):
            nd.from_numpy(source)
        assert source.flags.writeable
        np.testing.assert_array_equal(nd.from_numpy(source, zero_copy=False).asnumpy(), source)

    @pytest.mark.parametrize("dtype", ["int16", "uint32", "complex64", "U3"])
    def test_types_that_are_not_there_are_named(self, dtype):
        with pytest.raises((TypeError, ValueError), match=dtype.rstrip("3")):
            nd.from_numpy(np.zeros(2, dtype))

    def test_another_byte_order_is_refused(self):
        with pytest.raises(TypeError, match="byte order"):
            nd.from_numpy(np.zeros(2, ">f4"))

    def test_memory_that_is_not_aligned_is_refused(self):
        raw = np.zeros(17, np.uint8)
        ragged = raw[1:].view(np.float32)
        with pytest.raises(ValueError, match="aligned to 4 bytes"):
            nd.from_numpy(ragged)

    def test_read_only_memory_cannot_be_written(self):
        source = np.frombuffer(bytes(8), np.float32)
        array = nd.from_numpy(source)
        other = nd.ones((2,))
        for act in [
            lambda: array.__iadd__(1),
            lambda: array.__setitem__(slice(None), 3),
            lambda: array.__setitem__(0, 3),
            lambda: nd.elemwise_add(other, other, out=array),
            lambda: other.copyto(array),
            array.to_dlpack_for_write,
        ]:
            with pytest.raises((ValueError, BufferError), match=r"read-only|for reading only"):
                act()
        with pytest.raises(TypeError, match="read-write"):
            io.BytesIO(bytes(8)).readinto(array)
        np.testing.assert_array_equal((array + 1).asnumpy(), [1, 1])
        assert source.tolist() == [0, 0]

    def test_what_is_in_flight_keeps_the_memory(self):
        source = np.full(300_000, 2.0, np.float32)
        gone = weakref.ref(source)
        array = nd.from_numpy(source)
        results = [array * k for k in range(20)]
        del source, array
        for k, result in enumerate(results):
            assert result.asnumpy().tolist()[::100_000] == [2.0 * k] * 3
        settle()
        assert gone() is None

    def test_a_view_keeps_the_memory(self):
        source = values("float32", (4, 5))
        expected, gone = source.copy(), weakref.ref(source)
        part = nd.from_numpy(source)[1:3]
        del source
        settle()
        assert gone() is not None
        np.testing.assert_array_equal(part.asnumpy(), expected[1:3])
        del part
        settle()
        assert gone() is None

    def test_the_memory_goes_to_no_pool(self):
        before = mx.storage.stats(mx.cpu())["in_use"]
        array = nd.from_numpy(np.zeros(1 << 20, np.float32))
        assert mx.storage.stats(mx.cpu())["in_use"] - before < 1 << 20
        del array
        settle()
        assert mx.storage.stats(mx.cpu())["in_use"] - before < 1 << 20

    def test_gradients_flow(self):
        source = values("float32")
        x = nd.from_numpy(source)
        x.attach_grad()
        with mx.autograd.record():
            y = (x * x).sum()
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), 2 * source)


class TestBuffers:
    @pytest.mark.parametrize("dtype", TYPES)
    def test_a_view_has_format_shape_and_strides(self, dtype):
        source = values(dtype, (3, 4))
        view = memoryview(nd.array(source, dtype=dtype)[::2, 1:])
        assert view.shape == (2, 3)
        assert view.readonly
        assert view.strides == (8 * source.itemsize, source.itemsize)
        assert np.dtype(view.format) == source.dtype
        np.testing.assert_array_equal(np.asarray(view), source[::2, 1:])

    @pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 4)])
    def test_all_shapes(self, shape):
        source = values("float32", shape)
        array = nd.from_numpy(source)
        assert bytes(memoryview(array)) == source.tobytes()
        assert np.asarray(array).shape == shape

    def test_a_reader_waits_for_writes(self):
        array = nd.zeros((512, 512))
        for _ in range(30):
            array += 1
        assert np.asarray(array).min() == 30

    def test_asarray_shares_and_array_copies(self):
        array = nd.array([[1, 2], [3, 4]])
        shared = np.asarray(array)
        assert shared.base is not None
        assert not shared.flags.writeable
        copied = np.array(array)
        assert copied.flags.writeable
        array += 1
        array.wait_to_read()
        np.testing.assert_array_equal(shared, [[2, 3], [4, 5]])
        np.testing.assert_array_equal(copied, [[1, 2], [3, 4]])
        assert np.array(array, copy=False)[0, 0] == 2

    def test_what_numpy_lacks_is_copied(self):
        array = nd.array([1, 2.5]).astype("bfloat16")
        np.testing.assert_array_equal(np.asarray(array), np.array([1, 2.5], np.float32))
        with pytest.raises(ValueError, match="without a copy"):
            np.array(array, copy=False)
        with pytest.raises(BufferError, match="bfloat16"):
            memoryview(array)
        assert not hasattr(array, "__array_interface__")

    def test_who_asks_to_write_writes_into_the_memory(self, tmp_path):
        path = tmp_path / "numbers"
        values("float32", (6,)).tofile(path)
        array = nd.zeros((6,))
        with open(path, "rb") as file:
            file.readinto(array)
        np.testing.assert_array_equal(array.asnumpy(), values("float32", (6,)))

    def test_a_view_outlives_the_array(self):
        array = nd.array(values("float32"))
        view, gone = memoryview(array[1:]), weakref.ref(array)
        del array
        gc.collect()
        assert gone() is None
        others = [nd.full((1, 3), -1) for _ in range(50)]
        nd.waitall()
        assert view.tolist() == [[3.0, 4.0, 5.0]]
        assert len(others) == 50

    def test_the_array_interface(self):
        array = nd.array(values("int32", (3, 4)), dtype="int32")[1:, ::-1]
        told = array.__array_interface__

        class Holder:
            __array_interface__ = told
            kept = array

        np.testing.assert_array_equal(np.asarray(Holder()), array.asnumpy())
        assert told["data"][1] is True

    def test_a_strided_view_has_no_plain_bytes(self):
        array = nd.zeros((4, 4))[:, ::2]
        with pytest.raises(BufferError, match="copy it"):
            io.BytesIO().write(array)  # type: ignore[arg-type]
        assert len(memoryview(array).tobytes()) == 32

    def test_writing_from_outside_is_noticed_by_the_tape(self):
        x = nd.array([1.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = x * x
        io.BytesIO(bytes(4)).readinto(x)
        with pytest.raises(mx.MXNetError, match="wr"):
            y.backward()


def test_bytes_are_those_of_the_elements():
    values = np.arange(6, dtype="int32").reshape(2, 3)
    for given in (values, values.T, values[:1, :1], values[:0]):
        assert bytes(mx.nd.array(given, dtype="int32")) == given.tobytes()
    assert bytes(mx.nd.array(values, dtype="int32").T) == values.T.tobytes()
