"""Stores of one's own, by name."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    known = dict(mx.kv.KVStoreBase.kv_registry)
    monkeypatch.setattr(mx.kv.KVStoreBase, "kv_registry", known)


def test_a_registered_class_is_created_by_name():
    @mx.kv.KVStoreBase.register
    class MyStore(mx.kv.KVStoreBase):
        pass

    kv = mx.kv.create("MYSTORE")
    assert isinstance(kv, MyStore)
    assert kv.type == "mystore"
    for method, arguments in (("broadcast", (1, 2, 3)), ("pushpull", (1, 2)), ("is_capable", "x")):
        with pytest.raises(NotImplementedError):
            getattr(kv, method)(*arguments)


def test_a_taken_name_warns():
    def store():
        return type("Twice", (mx.kv.KVStoreBase,), {})

    mx.kv.KVStoreBase.register(store())
    second = store()
    with pytest.warns(UserWarning, match="Twice takes the place of"):
        mx.kv.KVStoreBase.register(second)
    assert type(mx.kv.create("twice")) is second
    with pytest.raises(ArgumentTypeError, match="expected a class of KVStoreBase"):
        mx.kv.KVStoreBase.register(int)  # type: ignore[type-var]


def test_the_store_for_tests():
    kv = mx.kv.create("teststore")
    assert (kv.type, kv.rank, kv.num_workers) == ("teststore", 0, 1)
    assert kv.is_capable("optimizer") is False
    out = [mx.nd.zeros((2,)), mx.nd.zeros((2,))]
    kv.broadcast("w", mx.nd.ones((2,)), out)
    values = [mx.nd.ones((2,)), mx.nd.ones((2,)) * 2]
    kv.pushpull("w", values, out[0])
    kv.pushpull("w", values)
    found = [a.asnumpy().tolist() for a in (*out, *values)]
    assert found == [[3, 3], [1, 1], [3, 3], [3, 3]]


def test_names():
    with pytest.raises(InvalidArgumentError, match="unknown KVStore 'nowhere'; known: local"):
        mx.kv.create("nowhere")
    with pytest.raises(TypeError, match="name must be a string, got int"):
        mx.kv.create(3)


def test_what_one_process_has_nothing_to_do_for():
    kv = mx.kv.create("device")
    kv.barrier()
    kv._barrier()
    kv.join()
    assert kv.num_dead_node(6, timeout=1) == kv.get_num_dead_node(6) == 0
    with pytest.raises(MXNetError, match="device has no servers"):
        kv._send_command_to_servers(0, "")
    kv.init("w", mx.nd.ones((2,)))
    np.testing.assert_array_equal(_pulled(kv, "w"), [1, 1])


def _pulled(kv, key):
    out = mx.nd.zeros((2,))
    kv.pull(key, out=out)
    return out.asnumpy()
