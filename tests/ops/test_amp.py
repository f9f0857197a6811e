"""Which types mixed precision turns into which, as MXNet 1.9.1 infers them."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

WIDEST = [
    (("float16", "float32"), ("float32", "float32")),
    (("float16", "float16"), ("float16", "float16")),
    (("float32", "float64"), ("float32", "float64")),
    (("float16", "float64"), ("float16", "float64")),
    (("float16", "int32", "float32"), ("float32", "int32", "float32")),
    (("int32", "int64"), ("int32", "int64")),
    (("bfloat16", "float32", "float16"), ("float32",) * 3),
    (("bfloat16", "float16"), ("float32", "float32")),
    (("int32", "float16"), ("int32", "float16")),
]
NARROWEST = [
    (("float16", "float32"), ("float16", "float16")),
    (("float32", "bfloat16"), ("bfloat16", "bfloat16")),
    (("float16", "int32", "float32"), ("float16", "int32", "float16")),
    (("float32", "float64"), ("float32", "float64")),
]
ROWS = [(*row, False) for row in WIDEST] + [(*row, True) for row in NARROWEST]


@pytest.mark.parametrize(("given", "expected", "narrow"), ROWS)
def test_multicast(given, expected, narrow):
    arrays = [mx.nd.array([1, 2, 3], dtype=t) for t in given]
    found = mx.nd.amp_multicast(*arrays, num_outputs=len(given), cast_narrow=narrow)
    found = found if isinstance(found, list) else [found]
    assert tuple(a.dtype_name for a in found) == expected
    for array in found:
        np.testing.assert_array_equal(array.astype("float32").asnumpy(), [1, 2, 3])


def test_multicast_refuses_two_narrowest_types():
    arrays = [mx.nd.ones((2,), dtype=t) for t in ("float16", "bfloat16")]
    with pytest.raises(InvalidArgumentError, match=r"amp_multicast.*float16 and bfloat16"):
        mx.nd.amp_multicast(*arrays, num_outputs=2, cast_narrow=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("given", ["float32", "float16", "bfloat16", "float64", "int32", "bool"])
def test_cast_changes_low_precision_only(given, dtype):
    found = mx.nd.amp_cast(mx.nd.array([1, 0], dtype=given), dtype=dtype)
    low = given in ("float32", "float16", "bfloat16")
    assert found.dtype_name == (dtype if low else given)
    np.testing.assert_array_equal(found.astype("float32").asnumpy(), [1, 0])
