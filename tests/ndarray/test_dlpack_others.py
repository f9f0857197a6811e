"""Memory shared with PyTorch and SciPy."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

from ferromix import nd

TYPES = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool"]


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        reason = "PyTorch is not installed; it is large, and nothing else here needs it"
        return pytest.importorskip("torch", reason=reason)

    @pytest.mark.parametrize("dtype", TYPES)
    def test_there_and_back(self, torch, dtype):
        tensor = torch.arange(6).reshape(2, 3).remainder(2).to(getattr(torch, dtype))
        array = nd.from_dlpack(tensor)
        assert (array.shape, array.dtype_name) == ((2, 3), dtype)
        np.testing.assert_array_equal(array.asnumpy(), tensor.float().numpy())
        back = torch.from_dlpack(array)
        assert back.dtype == tensor.dtype
        assert back.data_ptr() == tensor.data_ptr()
        assert torch.equal(back, tensor)

    def test_writes_on_both_sides(self, torch):
        array = nd.zeros((300, 300))
        for _ in range(20):
            array += 1
        tensor = torch.from_dlpack(array)
        assert bool((tensor == 20).all())
        tensor.mul_(2)
        assert (array.asnumpy() == 40).all()
        old = torch.utils.dlpack.from_dlpack(array.to_dlpack_for_read())
        assert bool((old == 40).all())

    def test_strided_tensors(self, torch):
        tensor = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[::2]
        array = nd.from_dlpack(tensor)
        np.testing.assert_array_equal(array.asnumpy(), tensor.numpy())
        array += 1
        array.wait_to_read()
        assert float(tensor[0, 0, 0]) == 1.0

    def test_either_side_may_end_first(self, torch):
        tensor = torch.full((1000,), 3.0)
        array = nd.from_dlpack(tensor)
        del tensor
        assert (array.asnumpy() == 3).all()
        kept = torch.from_dlpack(array * 2)
        del array
        gc.collect()
        nd.waitall()
        ctypes.pythonapi.Py_MakePendingCalls()
        assert bool((kept == 6).all())

    def test_capsules_of_torch_are_taken_once(self, torch):
        capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
        assert nd.from_dlpack(capsule).asnumpy().tolist() == [1, 1]
        with pytest.raises(ValueError, match="used before"):
            nd.from_dlpack(capsule)


def test_scipy_takes_the_memory_of_arrays():
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    data, columns = nd.array([1, 2, 3]), nd.array([0, 2, 1], dtype="int32")
    rows = nd.array([0, 2, 3], dtype="int32")
    parts = [np.from_dlpack(part) for part in (data, columns, rows)]
    matrix = sparse.csr_matrix(tuple(parts), shape=(2, 3), copy=False)
    assert np.shares_memory(matrix.data, parts[0])
    np.testing.assert_array_equal(matrix.toarray(), [[1, 0, 2], [0, 3, 0]])
    np.testing.assert_array_equal(nd.from_numpy(matrix.data).asnumpy(), [1, 2, 3])
    solved = pytest.importorskip("scipy.linalg").solve(np.asarray(nd.eye(2) * 2), nd.ones((2,)))
    np.testing.assert_array_equal(solved, [0.5, 0.5])
