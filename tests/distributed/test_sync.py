"""The store `dist_sync` in real processes: sums and updates as one process computes them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from processes import succeed

from ferromix.dispatch import host_driver

pytestmark = pytest.mark.slow

RANKS = [pytest.param(1, marks=pytest.mark.nightly), pytest.param(2, marks=pytest.mark.nightly), 3]


@pytest.mark.parametrize("ranks", RANKS)
def test_sums_of_every_type_and_shape(ranks):
    lines = succeed(
        ranks,
        """
        kv = mx.kv.create("dist_sync")
        assert kv.type == "dist_sync"
        W = kv.num_workers
        shapes = [(), (1,), (3,), (2, 5), (0, 4), (7, 11, 13), (1 << 20,), (700_001,)]
        for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "bfloat16"):
            for shape in shapes:
                key = f"{dtype} {shape}"
                kv.init(key, mx.nd.full(shape, kv.rank + 1, dtype=dtype))
                found = mx.nd.zeros(shape, dtype=dtype)
                kv.pull(key, out=found)
                assert (found.asnumpy() == 1).all(), key
                numbers = [np.random.default_rng(r).integers(0, 9, shape) for r in range(W)]
                mine = mx.nd.array(numbers[kv.rank], dtype=dtype)
                kv.push(key, mine)
                kv.pull(key, out=found)
                np.testing.assert_array_equal(found.astype("float64").asnumpy(), sum(numbers), key)
                np.testing.assert_array_equal(mine.astype("float64").asnumpy(), numbers[kv.rank])
        say("done")
        """,
    )
    assert lines == {rank: ["done"] for rank in range(ranks)}


@pytest.mark.parametrize("ranks", RANKS)
def test_an_optimizer_updates_as_in_one_process(ranks, tmp_path):
    lines = succeed(
        ranks,
        """
        from ferromix.optimizer import get_updater

        def flat(state):
            parts = state if isinstance(state, (list, tuple)) else [state]
            return [part for part in parts if part is not None]

        def gradients(rank, step):
            random = np.random.default_rng([rank, step])
            return [random.standard_normal(shape).astype("float32") for shape in SHAPES]

        SHAPES = [(3, 4), (5,), (300, 40)] + [(2,)] * 20
        first = [np.ones(shape, "float32") for shape in SHAPES]
        for name in ("sgd", "adam", "lamb"):
            options = {"momentum": 0.9} if name == "sgd" else {}
            make = lambda: mx.optimizer.create(name, learning_rate=0.1, wd=0.01, **options)
            kv = mx.kv.create("dist_sync")
            kv.set_optimizer(make())
            kv.init(list(range(len(SHAPES))), [mx.nd.array(x) for x in first])
            serial, weights = get_updater(make()), [mx.nd.array(x) for x in first]
            for step in range(4):
                mine = [mx.nd.array(g) for g in gradients(kv.rank, step)]
                kv.push(list(range(len(SHAPES))), mine, priority=step)
                everybodys = [gradients(r, step) for r in range(kv.num_workers)]
                total = [sum(gs) for gs in zip(*everybodys)]
                for key, g in enumerate(total):
                    serial(key, mx.nd.array(g), weights[key])
            for key, weight in enumerate(weights):
                found = mx.nd.zeros(weight.shape)
                kv.pull(key, out=found)
                np.testing.assert_allclose(found.asnumpy(), weight.asnumpy(), rtol=2e-5, atol=2e-6)
            kv.save_optimizer_states(f"FOLDER/{name}.states", dump_optimizer=True)
            if kv.rank == 0:
                serial_states = serial.states
                import pickle
                states, optimizer = pickle.load(open(f"FOLDER/{name}.states", "rb"))
                assert set(states) == set(serial_states), (set(states), set(serial_states))
                assert optimizer.num_update == 4
                for key in states:
                    for a, b in zip(flat(states[key]), flat(serial_states[key]), strict=True):
                        assert a.shape == b.shape
                        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-5, atol=2e-6)
            again = mx.kv.create("dist_sync")
            again.init(list(range(len(SHAPES))), weights)
            again.set_optimizer(make())
            again.load_optimizer_states(f"FOLDER/{name}.states")
            again.push(2, mx.nd.array(gradients(kv.rank, 9)[2]))
            total = sum(gradients(r, 9)[2] for r in range(kv.num_workers))
            serial(2, mx.nd.array(total), weights[2])
            found = mx.nd.zeros(SHAPES[2])
            again.pull(2, out=found)
            np.testing.assert_allclose(found.asnumpy(), weights[2].asnumpy(), rtol=2e-5, atol=2e-6)
        say("done")
        """.replace("FOLDER", str(tmp_path)),
        MXNET_KVSTORE_BIGARRAY_BOUND="1000",
    )
    assert lines == {rank: ["done"] for rank in range(ranks)}
    states, optimizer = pickle.loads((tmp_path / "sgd.states").read_bytes())
    assert states[2].shape == (300, 40)
    assert optimizer.momentum == 0.9


def test_thousands_of_small_keys():
    succeed(
        2,
        """
        kv = mx.kv.create("dist_sync")
        count, W = 3000, kv.num_workers
        keys = [f"k{i}" for i in range(count)]
        kv.init(keys, [mx.nd.zeros((i % 7 + 1,)) for i in range(count)])
        for step in range(3):
            # In another order of priorities on each rank, as backward passes end differently.
            for i in np.random.default_rng([kv.rank, step]).permutation(count).tolist():
                kv.push(keys[i], mx.nd.full((i % 7 + 1,), i + kv.rank), priority=-i)
        outs = [mx.nd.zeros((i % 7 + 1,)) for i in range(count)]
        kv.pull(keys, out=outs)
        for i, out in enumerate(outs):
            assert (out.asnumpy() == W * i + 1).all()
        """,
    )


@pytest.mark.parametrize("ranks", RANKS)
def test_row_sparse_gradients(ranks):
    succeed(
        ranks,
        """
        kv = mx.kv.create("dist_sync")
        W, rank = kv.num_workers, kv.rank
        def gradient(r):
            values = np.random.default_rng(r).integers(-3, 9, (3, 2)).astype("float32")
            return mx.nd.sparse.row_sparse_array((values, [r, r + 2, 9]), shape=(12, 2))
        total = sum(gradient(r).asnumpy() for r in range(W))
        rows = mx.nd.array(np.arange(12))
        for stype in ("row_sparse", "default"):
            kv.init(stype, mx.nd.zeros((12, 2)).tostype(stype))
            kv.push(stype, gradient(rank))
            out = mx.nd.zeros((12, 2)).tostype(stype)
            if stype == "default":
                kv.pull(stype, out=out)
            else:
                kv.row_sparse_pull(stype, out=out, row_ids=rows)
            np.testing.assert_array_equal(out.asnumpy(), total)
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
        kv.init("rows", mx.nd.ones((12, 2)).tostype("row_sparse"))
        kv.push("rows", [gradient(rank), gradient(rank)])
        out = mx.nd.zeros((12, 2)).tostype("row_sparse")
        kv.row_sparse_pull("rows", out=out, row_ids=rows)
        np.testing.assert_array_equal(out.asnumpy(), 1 - 0.5 * 2 * total)
        kv.push("default", gradient(rank))
        out = mx.nd.zeros((12, 2))
        kv.pull("default", out=out)
        np.testing.assert_array_equal(out.asnumpy(), total - 0.5 * total)
        """,
    )


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_unequal_numbers_of_batches(ranks):
    lines = succeed(
        ranks,
        """
        kv = mx.kv.create("dist_sync")
        kv.init(["a", "b"], [mx.nd.zeros((3,)), mx.nd.zeros((2, 2))])
        kv.set_updater(lambda key, received, stored: stored.__iadd__(received))
        for epoch in range(3):
            for i in range(2 + 3 * ((kv.rank + epoch) % kv.num_workers)):
                kv.push("a", mx.nd.ones((3,)))
                kv.push("b", mx.nd.sparse.row_sparse_array(([[1.0, 1]], [1]), shape=(2, 2)))
            kv.join()
        out = mx.nd.zeros((3,))
        kv.pull("a", out=out)
        other = mx.nd.zeros((2, 2))
        kv.pull("b", out=other)
        say(out.asnumpy().tolist(), other.asnumpy().tolist())
        """,
    )
    total = float(sum(3 * (2 + 3 * rank) for rank in range(ranks)))
    line = f"{[total] * 3} {[[0.0, 0.0], [total, total]]}"
    assert lines == {rank: [line] for rank in range(ranks)}


def test_orders_of_two_leaders_may_come_in_any_order():
    # Rank 2 gets what the first leader says 0.1 s late, as MPI may deliver it.
    lines = succeed(
        3,
        """
        from ferromix.kvstore.dist import lane as lanes

        kv = mx.kv.create("dist_sync")
        kv.init("a", mx.nd.zeros((3,)))
        kv.set_updater(lambda key, received, stored: stored.__iadd__(received))
        if kv.rank == 2:
            lane, late = lanes.the_lane(), []
            comm = lane.peers.comm
            source_of, listen = comm.source_of, lane._listen

            def held(request):
                if late and request is lane._order and time.monotonic() > late[0][0]:
                    _, orders, found = late.pop(0)
                    lane._orders, kept = orders, (lane._orders, lane._order)
                    lane._listen = lambda: again(kept)
                    return found
                found = source_of(request)
                if found is None or found[0] != 0 or request is not lane._order:
                    return found
                late.append((time.monotonic() + 0.1, lane._orders, found))
                listen()
                return None

            def again(kept):
                lane._orders, lane._order = kept
                lane._listen = listen

            comm.source_of = held
        for _ in range(2 + 3 * kv.rank):
            kv.push("a", mx.nd.ones((3,)))
        kv.join()
        out = mx.nd.zeros((3,))
        kv.pull("a", out=out)
        say(out.asnumpy().tolist())
        """,
    )
    assert lines == {rank: ["[15.0, 15.0, 15.0]"] for rank in range(3)}


def test_pushes_from_several_threads_and_stores():
    succeed(
        2,
        """
        import threading
        stores = [mx.kv.create("dist_sync") for _ in range(3)]
        for kv in stores:
            kv.init(list(range(8)), [mx.nd.zeros((50,))] * 8)
        def work(key):
            for kv in stores:
                for i in range(20):
                    kv.push(key, mx.nd.full((50,), i + kv.rank))
        threads = [threading.Thread(target=work, args=(key,)) for key in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        for kv in stores:
            for key in range(8):
                out = mx.nd.zeros((50,))
                kv.pull(key, out=out)
                assert (out.asnumpy() == 39).all(), out.asnumpy()
        """,
    )


@pytest.mark.nightly
def test_values_of_two_hundred_megabytes():
    succeed(
        2,
        """
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((50_000_000,)))
        gradient = mx.nd.arange(50_000_000) * (kv.rank + 1)
        kv.push("w", gradient)
        out = mx.nd.zeros((50_000_000,))
        kv.pull("w", out=out)
        expected = np.arange(50_000_000, dtype="float32")
        np.testing.assert_array_equal(out.asnumpy(), expected + expected * 2)
        """,
        timeout=240,
    )


def test_float32_sums_do_not_depend_on_the_rank():
    lines = succeed(
        3,
        """
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((1001, 7)))
        kv.push("w", mx.nd.array(np.random.default_rng(kv.rank).standard_normal((1001, 7))))
        out = mx.nd.zeros((1001, 7))
        kv.pull("w", out=out)
        expected = sum(np.random.default_rng(r).standard_normal((1001, 7)) for r in range(3))
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5, atol=1e-6)
        import zlib
        say(zlib.crc32(out.asnumpy().tobytes()))
        """,
    )
    assert np.unique([line for found in lines.values() for line in found]).size == 1


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("kind", ["2bit", "1bit", "fp16"])
def test_compressed_gradients(ranks, kind):
    succeed(
        ranks,
        """
        from ferromix.kvstore.compression import GradientCompression
        params = {"type": KIND, "threshold": 0.4}
        kv = mx.kv.create("dist_sync")
        kv.set_gradient_compression(params)
        shapes = [(7,), (30, 20), (0, 3)]
        kv.init([0, 1, 2], [mx.nd.zeros(s) for s in shapes])
        how, ranks = GradientCompression(params), range(kv.num_workers)
        left = [[np.zeros(int(np.prod(s)), "float32") for s in shapes] for _ in ranks]
        weights = [np.zeros(s, "float32") for s in shapes]
        for step in range(6):
            if step == 3:
                kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
            random = [np.random.default_rng([rank, step]) for rank in ranks]
            gradients = [[r.uniform(-1, 1, s).astype("float32") for s in shapes] for r in random]
            kv.push([0, 1, 2], [mx.nd.array(g) for g in gradients[kv.rank]])
            for key, shape in enumerate(shapes):
                total = np.zeros(int(np.prod(shape)), "float32")
                for rank in ranks:
                    packed = np.empty(how.packed_size(total.size), np.uint8)
                    how.pack(gradients[rank][key].ravel(), left[rank][key], packed)
                    how.add_unpacked(packed, total)
                total = total.reshape(shape)
                weights[key] = total if step < 3 else weights[key] - 0.5 * total
                out = mx.nd.zeros(shape)
                kv.pull(key, out=out)
                np.testing.assert_allclose(out.asnumpy(), weights[key], rtol=1e-6, atol=1e-6)
        """.replace("KIND", repr(kind)),
    )


@pytest.mark.skipif(host_driver.COMPILER is None, reason="no compiler to stand in for a GPU")
def test_several_gpus_of_each_process_add_up_first():
    """By the library of the stand-in for GPUs; the processes add up what their GPUs have."""
    lines = succeed(
        2,
        """
        from ferromix.kvstore import devices
        ran, reduce = [], devices.reduce
        devices.reduce = lambda *given: ran.append(reduce(*given)) or ran[-1]
        kv = mx.kv.create("dist_device_sync")
        gpus = [mx.gpu(0), mx.gpu(1)]
        kv.init("w", mx.nd.ones((3, 4)))
        out = [mx.nd.zeros((3, 4), ctx=gpu) for gpu in gpus]
        for step in range(3):
            mine = [mx.nd.full((3, 4), 10 * kv.rank + i + step, g) for i, g in enumerate(gpus)]
            kv.push("w", mine)
            kv.pull("w", out)
            say(*{float(x) for o in out for x in o.asnumpy().ravel()}, *ran)
        """,
        FERROMIX_GPU_DRIVER="host",
    )
    expected = [f"{22.0 + 4 * step} {' '.join(['True'] * (step + 1))}" for step in range(3)]
    assert lines == {0: expected, 1: expected}
