"""DLPack both ways: values under writes in flight, ends, double use, tensors that make no sense."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import ferromix as mx
from ferromix import nd
from ferromix.ndarray.dlpack import DLContext, DLDataType, DLManagedTensor, DLTensor

TYPES = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def settle() -> None:
    """Lets what was given up be told: the interpreter does so when it next can."""
    gc.collect()
    nd.waitall()
    for _ in range(3):
        api.Py_MakePendingCalls()


class Versioned(ctypes.Structure):
    """A tensor of DLPack 1.0."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    )


class Maker:
    """Capsules as other libraries make them, and how often their deleter was called."""

    def __init__(self) -> None:
        self.deleted = 0
        self.kept: list[Any] = []

    def tensor(self, memory: np.ndarray, **changes: Any) -> DLTensor:
        shape = changes.get("shape", memory.shape)
        strides = changes.get("strides")
        rows = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        steps = None if strides is None else (ctypes.c_int64 * max(len(strides), 1))(*strides)
        self.kept += [memory, rows, steps]
        pointer = ctypes.POINTER(ctypes.c_int64)
        return DLTensor(
            data=changes.get("data", memory.ctypes.data),
            ctx=DLContext(*changes.get("device", (1, 0))),
            ndim=changes.get("ndim", len(shape)),
            dtype=DLDataType(*changes.get("dtype", (2, 32, 1))),
            shape=None if changes.get("no_shape") else ctypes.cast(rows, pointer),
            strides=None if steps is None else ctypes.cast(steps, pointer),
            byte_offset=changes.get("byte_offset", 0),
        )

    def delete(self, _: Any) -> None:
        self.deleted += 1

    def old(self, memory: np.ndarray, **changes: Any) -> Any:
        managed = DLManagedTensor(dl_tensor=self.tensor(memory, **changes))
        managed.deleter = type(managed.deleter)(self.delete)
        self.kept.append(managed)
        return api.PyCapsule_New(ctypes.addressof(managed), b"dltensor", None)

    def new(self, memory: np.ndarray, version=(1, 0), flags=0, **changes: Any) -> Any:
        managed = Versioned(*version, flags=flags, dl_tensor=self.tensor(memory, **changes))
        managed.deleter = type(managed.deleter)(self.delete)
        self.kept.append(managed)
        return api.PyCapsule_New(ctypes.addressof(managed), b"dltensor_versioned", None)


class Old:
    """An owner that knows DLPack from before it had versions."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()


class TestWithNumpy:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("shape", [(2, 3), (), (0, 2), (4,)])
    def test_there_and_back(self, dtype, shape):
        source = (np.arange(np.prod(shape, dtype=int)) % 2).astype(dtype).reshape(shape)
        array = nd.from_dlpack(source)
        assert (array.shape, np.dtype(array.dtype)) == (shape, source.dtype)
        np.testing.assert_array_equal(array.asnumpy(), source)
        back = np.from_dlpack(array)
        np.testing.assert_array_equal(back, source)
        assert back.dtype == source.dtype
        if source.size:
            assert np.shares_memory(back, source)

    @pytest.mark.parametrize(
        "select",
        [
            lambda a: a[::-1],
            lambda a: a[:, ::2],
            lambda a: a.T,
            lambda a: a[::-2, ::-1],
            lambda a: a[1:2, 3:],
            lambda a: np.broadcast_to(a[0], (3, 5)),
        ],
    )
    def test_strides(self, select):
        source = np.arange(20, dtype=np.float32).reshape(4, 5)
        array = nd.from_dlpack(select(source))
        np.testing.assert_array_equal(array.asnumpy(), select(source))
        np.testing.assert_array_equal((array + 1).asnumpy(), select(source) + 1)
        np.testing.assert_array_equal(np.from_dlpack(array), select(source))

    def test_views_of_arrays(self):
        array = nd.array(np.arange(20).reshape(4, 5))
        np.testing.assert_array_equal(
            np.from_dlpack(array[::-1, 1::2]), [*np.arange(20).reshape(4, 5)[::-1, 1::2]]
        )

    def test_writes_under_way_are_waited_for(self):
        for copied in (None, True):
            array = nd.zeros((400, 400))
            for _ in range(20):
                array += 1
            seen = np.from_dlpack(array, copy=copied)
            assert (seen == 20).all()

    def test_reads_under_way_are_waited_for_by_who_writes(self):
        for _ in range(10):
            array = nd.ones((300, 100))
            results = [nd.dot(array, array, transpose_b=True) for _ in range(2)]
            nd.from_dlpack(array.to_dlpack_for_write())
            np.from_dlpack(array)[:] = 5
            assert all((r.asnumpy() == 100).all() for r in results)

    def test_copies_and_sharing(self):
        array = nd.ones((3,))
        shared, copied = np.from_dlpack(array), np.from_dlpack(array, copy=True)
        array += 1
        array.wait_to_read()
        assert (shared.tolist(), copied.tolist()) == ([2, 2, 2], [1, 1, 1])
        shared[0] = 7
        assert array.asnumpy().tolist() == [7, 2, 2]

    def test_read_only_stays_read_only(self):
        source = np.ones(3, np.float32)
        source.flags.writeable = False
        array = nd.from_dlpack(source)
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 2
        assert not np.from_dlpack(array).flags.writeable
        with pytest.raises(BufferError, match="read-only"):
            array.__dlpack__()
        assert (array * 2).asnumpy().tolist() == [2, 2, 2]

    def test_elements_in_one_place_are_read_only(self):
        array = nd.from_dlpack(np.broadcast_to(np.float32(3), (2, 2)))
        with pytest.raises(ValueError, match="read-only"):
            array += 1

    def test_what_numpy_gives_is_kept(self):
        source = np.full(100_000, 3.0, np.float32)
        gone = weakref.ref(source)
        array = nd.from_dlpack(source)
        del source
        results = [array + k for k in range(10)]
        del array
        assert [r[0].asscalar() for r in results] == [3.0 + k for k in range(10)]
        settle()
        assert gone() is None

    def test_what_numpy_has_keeps_the_memory(self):
        before = mx.storage.stats(mx.cpu())["in_use"]
        seen = np.from_dlpack(nd.full((1 << 16,), 4))
        settle()
        others = [nd.zeros((1 << 16,)) for _ in range(20)]
        nd.waitall()
        assert (seen == 4).all()
        assert len(others) == 20
        del seen, others
        settle()
        assert mx.storage.stats(mx.cpu())["in_use"] <= before


class TestCapsules:
    def test_a_capsule_is_taken_once(self):
        x = nd.ones((2,))
        for capsule in [x.to_dlpack_for_read(), x.__dlpack__(max_version=(1, 0))]:
            assert nd.from_dlpack(capsule).asnumpy().tolist() == [1, 1]
            with pytest.raises(ValueError, match="used before"):
                nd.from_dlpack(capsule)

    def test_an_array_of_its_own_capsule_is_ordered_with_it(self):
        x = nd.ones((300, 300))
        y = nd.from_dlpack(nd.to_dlpack_for_write(x))
        for _ in range(50):
            y += 1
            x += 1
        assert (x.asnumpy() == 101).all()

    @pytest.mark.parametrize("make", [Maker.old, Maker.new])
    def test_the_deleter_is_called_once_when_all_is_done(self, make):
        maker = Maker()
        array = nd.from_dlpack(make(maker, np.arange(6, dtype=np.float32), shape=(2, 3)))
        view = (array * 2)[1], array[1]
        del array
        settle()
        assert maker.deleted == 0
        assert view[1].asnumpy().tolist() == [3, 4, 5]
        del view
        settle()
        assert maker.deleted == 1

    def test_a_capsule_that_nobody_takes_frees_its_memory(self):
        before = mx.storage.stats(mx.cpu())["in_use"]
        for _ in range(100):
            x = nd.ones((1 << 12,))
            x.to_dlpack_for_read(), x.to_dlpack_for_write(), x.__dlpack__(max_version=(1, 2))
        del x
        settle()
        assert mx.storage.stats(mx.cpu())["in_use"] <= before

    def test_any_thread_may_end_what_was_given(self):
        capsule = nd.full((1000,), 2).__dlpack__()
        managed = api.PyCapsule_GetPointer(capsule, b"dltensor")
        tensor = ctypes.cast(managed, ctypes.POINTER(DLManagedTensor))
        api.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor")
        ending = threading.Thread(target=lambda: tensor.contents.deleter(tensor))
        ending.start()
        ending.join()
        nd.waitall()

    def test_a_tensor_without_a_deleter_is_just_forgotten(self):
        maker, memory = Maker(), np.ones(2, np.float32)
        managed = DLManagedTensor(dl_tensor=maker.tensor(memory))
        capsule = api.PyCapsule_New(ctypes.addressof(managed), b"dltensor", None)
        array = nd.from_dlpack(capsule)
        assert array.asnumpy().tolist() == [1, 1]
        del array
        settle()

    def test_an_owner_from_before_versions(self):
        assert nd.from_dlpack(Old(np.ones(2))).asnumpy().tolist() == [1, 1]
        assert np.from_dlpack(nd.ones((2,))).tolist() == [1, 1]

    def test_mxnets_bool_is_one(self):
        memory = np.array([1, 0, 1], np.uint8)
        array = nd.from_dlpack(Maker().old(memory, dtype=(1, 1, 1)))
        assert array.dtype == np.bool_
        assert array.asnumpy().tolist() == [True, False, True]


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a gpu": ({"device": (2, 9)}, RuntimeError, r"gpu\(9\)"),
    "another machine": ({"device": (8, 1)}, ValueError, "type 8, number 1"),
    "lanes": ({"dtype": (2, 32, 4)}, TypeError, "lanes 4"),
    "int16": ({"dtype": (0, 16, 1)}, TypeError, "int16"),
    "uint64": ({"dtype": (1, 64, 1)}, TypeError, "uint64"),
    "complex": ({"dtype": (5, 64, 1)}, TypeError, "complex64"),
    "an unknown type": ({"dtype": (77, 8, 1)}, TypeError, "code 77"),
    "a negative rank": ({"ndim": -1}, ValueError, "-1 dimensions"),
    "a huge rank": ({"ndim": 1 << 30}, ValueError, "1073741824 dimensions"),
    "no shape": ({"no_shape": True}, ValueError, "without a shape"),
    "a negative extent": ({"shape": (2, -3)}, ValueError, "extents"),
    "more than there can be": ({"shape": (1 << 40, 1 << 40)}, ValueError, "too many|elements"),
    "more bytes than there can be": ({"shape": (1 << 61,)}, ValueError, "fit|too many"),
    "strides beyond": ({"shape": (4,), "strides": (1 << 61,)}, ValueError, "does not fit"),
    "strides far below": ({"shape": (4,), "strides": (-(1 << 60),)}, ValueError, "does not fit"),
    "no memory": ({"data": None}, ValueError, "without memory"),
    "an odd offset": ({"byte_offset": 2}, ValueError, "aligned to 4 bytes"),
    "an offset beyond": ({"byte_offset": (1 << 64) - 4}, ValueError, "an offset of"),
    "bytes that are no bools": ({"dtype": (6, 8, 1)}, ValueError, "found 7"),
    "such bytes in a view": (
        {"dtype": (6, 8, 1), "shape": (3, 2), "strides": (1, 3)},
        ValueError,
        "found 7",
    ),
}


@pytest.mark.parametrize("make", [Maker.old, Maker.new])
@pytest.mark.parametrize(("changes", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_tensors_that_make_no_sense_are_errors(changes, kind, message, make):
    maker = Maker()
    memory = np.frombuffer(bytearray([0, 1, 0, 1, 0, 7, 1, 0] * 3), np.float32)
    capsule = make(maker, memory, **changes)
    with pytest.raises(kind, match=message):
        nd.from_dlpack(capsule)
    settle()
    assert maker.deleted <= 1


def test_another_major_version_is_refused_and_left():
    maker = Maker()
    capsule = maker.new(np.ones(2, np.float32), version=(2, 0))
    for _ in range(2):
        with pytest.raises(BufferError, match=r"version 2\.0"):
            nd.from_dlpack(capsule)
    assert maker.deleted == 0
    later = maker.new(np.ones(2, np.float32), version=(1, 9))
    assert nd.from_dlpack(later).asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("given", [3, None, b"x", [1], object()])
def test_what_is_no_tensor_is_refused(given):
    with pytest.raises(TypeError, match="__dlpack__"):
        nd.from_dlpack(given)
    with pytest.raises(TypeError, match="__dlpack__"):
        nd.from_dlpack(api.PyCapsule_New(1, b"something else", None))


def test_what_a_consumer_may_ask():
    x = nd.ones((2,))
    assert x.__dlpack_device__() == (1, 0)
    assert nd.ones((2,), ctx=mx.cpu(1)).__dlpack_device__() == (1, 0)
    assert "versioned" in repr(x.__dlpack__(max_version=(1, 1)))
    assert "versioned" not in repr(x.__dlpack__(max_version=(0, 8)))
    with pytest.raises(ValueError, match="no streams"):
        x.__dlpack__(stream=1)  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="not on"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="an NDArray"):
        nd.to_dlpack_for_read(np.ones(2))  # type: ignore[arg-type]


def test_a_failure_is_raised_by_who_hands_out():
    x = nd.ones((2,))

    def fails() -> None:
        raise OSError("no luck")

    mx.engine.push(fails, mutable_vars=[x])
    with pytest.raises(OSError, match="no luck"):
        np.from_dlpack(x)


def test_inside_of_an_operation_on_the_array_nothing_is_waited_for():
    x, found = nd.ones((3,)), []

    def look() -> None:
        found.append(np.from_dlpack(x).tolist())

    mx.engine.push(look, const_vars=[x])
    nd.waitall()
    assert found == [[1, 1, 1]]


def test_threads_that_give_and_take():
    failures = []

    def work(seed: int) -> None:
        try:
            for k in range(200):
                source = np.full(50 + k, seed, np.float32)
                array = nd.from_dlpack(source)
                total = (array + k).sum()
                back = np.from_dlpack(array * 2)
                del array, source
                assert total.asscalar() == (seed + k) * (50 + k)
                assert (back == 2 * seed).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


SCRIPTS: dict[str, str] = {
    "memory in use at the end": """
        arrays = [nd.from_dlpack(np.full(100_000, k, np.float32)) for k in range(20)]
        results = [a * 2 for a in arrays for _ in range(20)]
        seen = np.from_dlpack(results[0])
        print("end")
    """,
    "a deleter that is called after everything": """
        import atexit
        holder = [nd.from_dlpack(np.ones(10))]
        given = holder[0].__dlpack__()
        atexit.register(lambda: print("end"))
        del holder[0]
    """,
    "a fork": """
        import os
        a = nd.from_dlpack(np.full(100_000, 2.0))
        results = [a * 2 for _ in range(50)]
        del a
        pid = os.fork()
        b = nd.from_dlpack(np.full(10, 3.0))
        assert (b + 1).asnumpy().tolist() == [4.0] * 10
        assert results[-1].asnumpy()[0] == 4.0
        del b, results
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print("end")
    """,
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_processes_end_well(script):
    lines = [line.removeprefix(" " * 8) for line in script.splitlines()]
    program = "\n".join(["import numpy as np", "from ferromix import nd", *lines])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
