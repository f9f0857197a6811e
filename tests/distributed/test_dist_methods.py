"""Every method of the distributed stores, by 2, 4 and 8 processes, as NumPy computes it in one."""

from __future__ import annotations

import pytest
from methods import METHODS, settings
from processes import succeed

pytestmark = pytest.mark.slow

MANY = [pytest.param(4, marks=pytest.mark.nightly), pytest.param(8, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("ranks", [2, *MANY])
@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
def test_every_method(ranks, kind, tmp_path):
    count = 300 if ranks == 2 else 3000
    source = settings(kind, str(tmp_path / "states"), count) + METHODS
    lines = succeed(ranks, source, timeout=240, MXNET_KVSTORE_BIGARRAY_BOUND="1000")
    assert lines == {rank: ["done"] for rank in range(ranks)}


def test_other_names():
    lines = succeed(
        2,
        """
        out = mx.nd.zeros((3,))
        for name in ("dist", "Dist_Device_Sync", "dist_sync_device", "horovod"):
            kv = mx.kv.create(name)
            assert kv.type == name.lower()
            kv.broadcast("w", mx.nd.ones((3,)), out=out)
            kv.pushpull("w", mx.nd.full((3,), kv.rank + 1), out=out)
            assert out.asnumpy().tolist() == [3, 3, 3]
        for name in ("dist_device_async", "dist_async_device"):
            kv = mx.kv.create(name)
            assert kv.type == name
            kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
            kv.init("w", mx.nd.zeros((3,)))
            kv.push("w", mx.nd.ones((3,)))
            mx.nd.waitall()
            kv.barrier()
            kv.pull("w", out=out)
            assert out.asnumpy().tolist() == [-2, -2, -2]
        say("done")
        """,
    )
    assert lines == {0: ["done"], 1: ["done"]}
