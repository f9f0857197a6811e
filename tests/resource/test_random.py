"""Random numbers: the documented layout, seeds, devices, and any number of threads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ferromix as mx

MASK = (1 << 32) - 1


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 after its publication, in plain integers."""
    a, b, c, d = counter
    first, second = key
    for _ in range(10):
        low, high = a * 0xD2511F53, c * 0xCD9E8D57
        a, b = (high >> 32) ^ b ^ first, high & MASK
        c, d = (low >> 32) ^ d ^ second, low & MASK
        first, second = (first + 0x9E3779B9) & MASK, (second + 0xBB67AE85) & MASK
    return [a, b, c, d]


def words(seed: int, run: int, count: int) -> np.ndarray:
    """The first random words of an operation, as docs/random.md lays them out."""
    key = [seed & MASK, seed >> 32]
    blocks = [
        philox([i & MASK, i >> 32, run & MASK, run >> 32], key) for i in range(-(-count // 4))
    ]
    return np.array(blocks, np.uint64).reshape(-1)[:count]


def test_the_cipher_gives_the_published_answers():
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([MASK] * 4, [MASK] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    assert philox(*pi) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


SEED = 0x0123456789ABCDEF


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_uniform_numbers_are_the_documented_ones(dtype, bits):
    mx.random.seed(SEED)
    for run in range(2):
        drawn = mx.random.uniform(shape=(103,), dtype=dtype).asnumpy()
        expected = (words(SEED, run, 103) >> np.uint64(32 - bits)) / 2.0**bits
        np.testing.assert_array_equal(drawn, expected.astype(drawn.dtype))


def test_uniform_doubles_are_the_documented_ones():
    mx.random.seed(SEED)
    drawn = mx.random.uniform(shape=(51,), dtype="float64").asnumpy()
    pairs = words(SEED, 0, 102).reshape(-1, 2)
    expected = ((pairs[:, 0] << np.uint64(21)) | (pairs[:, 1] >> np.uint64(11))) / 2.0**53
    np.testing.assert_array_equal(drawn, expected)


def test_normal_numbers_are_the_documented_ones():
    mx.random.seed(SEED)
    drawn = mx.random.normal(2, 3, shape=(100,)).asnumpy()
    pairs = words(SEED, 0, 100).reshape(-1, 2)
    radius = 3 * np.sqrt(-2 * np.log((pairs[:, 0] + 1.0) / 2**32))
    angle = 2 * np.pi * (pairs[:, 1] >> np.uint64(8)) / 2.0**24
    expected = np.stack([np.cos(angle), np.sin(angle)], 1).reshape(-1) * np.repeat(radius, 2) + 2
    np.testing.assert_allclose(drawn, expected, rtol=2e-6, atol=2e-6)


def test_normal_doubles_are_the_documented_ones():
    mx.random.seed(SEED)
    drawn = mx.random.normal(shape=(50,), dtype="float64").asnumpy()
    four = words(SEED, 0, 100).reshape(-1, 4)
    fraction = [
        ((four[:, i] << np.uint64(21)) | (four[:, i + 1] >> np.uint64(11))) / 2.0**53
        for i in (0, 2)
    ]
    radius, angle = np.sqrt(-2 * np.log(1 - fraction[0])), 2 * np.pi * fraction[1]
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
    np.testing.assert_allclose(drawn, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (2.1, 2.9), (-1, 0), (-3.3, 1000), (255, 256.5)])
def test_uniform_numbers_stay_below_the_upper_end(dtype, low, high):
    mx.random.seed(1)
    drawn = mx.random.uniform(low, high, shape=(200_000,), dtype=dtype).asnumpy()
    values = drawn.astype("float64")
    assert values.min() >= low
    assert values.max() < high
    # The ends are met as closely as the draws and the spacing of the type allow.
    spacing = {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype, 0) * max(abs(low), abs(high))
    assert values.max() > high - (high - low) / 64 - spacing
    assert values.min() < low + (high - low) / 64 + spacing


DRAWS = """
import hashlib
import ferromix as mx
mx.random.seed(11)
digest = hashlib.sha256()
for dtype in ("float32", "float64", "float16"):
    for array in (
        mx.random.uniform(-1, 2, shape=(70_001,), dtype=dtype),
        mx.random.normal(1, 2, shape=(70_001,), dtype=dtype),
        mx.nd.Dropout(mx.nd.ones((70_001,), dtype=dtype), p=0.3, mode="always"),
        mx.nd.Dropout(mx.nd.ones((301, 203), dtype=dtype), p=0.3, mode="always", axes=(1,)),
    ):
        digest.update(array.asnumpy().tobytes())
    rows = mx.nd.array([[0.5, 1, 2], [9, 30, 4000]], dtype=dtype)
    for array in (
        mx.nd.sample_gamma(rows, rows, shape=(7001,), dtype=dtype),
        mx.nd.sample_negative_binomial(rows, rows / 5000, shape=(7001,), dtype=dtype),
        mx.nd.sample_exponential(rows, shape=(7001,), dtype=dtype),
        mx.nd.random.randint(0, 9, shape=(70_001,)),
        mx.nd.shuffle(mx.nd.arange(200_003, dtype=dtype)),
        mx.nd.sample_multinomial(rows, shape=(20_001,)),
        mx.nd._internal._sample_unique_zipfian(range_max=99, shape=(50, 20))[0],
    ):
        digest.update(array.asnumpy().tobytes())
print(digest.hexdigest())
"""

SETTINGS = [
    {"FERROMIX_NUM_THREADS": "1", "FERROMIX_CPU_WORKER_NTHREADS": "1"},
    {"FERROMIX_NUM_THREADS": "2", "FERROMIX_CPU_WORKER_NTHREADS": "3"},
    {"FERROMIX_NUM_THREADS": "7", "FERROMIX_CPU_WORKER_NTHREADS": "1"},
    {"FERROMIX_ENGINE_TYPE": "NaiveEngine"},
]


def test_every_operator_draws_the_same_numbers_for_any_number_of_threads():
    digests = set()
    for setting in SETTINGS:
        run = subprocess.run(
            [sys.executable, "-c", DRAWS],
            env={"PATH": "", "PYTHONPATH": ":".join(sys.path), **setting},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def _draw(**options) -> list[float]:
    return mx.random.uniform(shape=(8,), **options).asnumpy().tolist()


def test_seeds_and_operations_have_numbers_of_their_own():
    drawn = set()
    for seed in (0, 1, 2**32, 2**64 - 1):
        mx.random.seed(seed)
        drawn |= {tuple(_draw()) for _ in range(5)}
    assert len(drawn) == 20


def test_all_memory_of_the_cpu_draws_from_one_generator():
    mx.random.seed(3)
    first, second = _draw(), _draw()
    for ctx in (mx.cpu(), mx.cpu(1), mx.cpu_shared(), "cpu"):
        mx.random.seed(3, ctx=ctx)
        assert _draw(ctx=mx.cpu_shared()) == first
        assert _draw() == second


def test_another_device_is_seeded_alone():
    mx.random.seed(3)
    first = _draw()
    second = _draw()
    mx.random.seed(3)
    assert _draw() == first
    mx.random.seed(9, ctx=mx.gpu(0))
    assert _draw() == second


@pytest.mark.parametrize(
    ("seed", "same"),
    [
        (-1, 2**64 - 1),
        (-(2**31), 2**64 - 2**31),
        (2**64, 0),
        (2**70 + 5, 5),
        (np.int32(-7), 2**64 - 7),
        (np.int64(9), 9),
        (np.uint64(2**63), 2**63),
        (True, 1),
    ],
)
def test_any_int_is_a_seed(seed, same):
    mx.random.seed(seed)
    found = _draw()
    mx.random.seed(same)
    assert _draw() == found
    mx.random.seed(seed, ctx=mx.cpu())
    assert _draw() == found
    mx.random.seed(seed, ctx="cpu(0)")
    assert _draw() == found


def test_symbols_draw_as_arrays_do():
    for draw, of_array in (
        (mx.sym.random.uniform, mx.nd.random.uniform),
        (mx.sym.random.normal, mx.nd.random.normal),
    ):
        for options in (
            {},
            {"ctx": mx.cpu()},
            {"ctx": "cpu(0)"},
            {"ctx": None},
            {"dtype": "float64"},
        ):
            mx.random.seed(4)
            (found,) = draw(1, 2, shape=(8,), **options).eval()
            mx.random.seed(4)
            expected = of_array(1, 2, shape=(8,), dtype=options.get("dtype"))
            np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
    named = mx.sym.random.normal(name="noise") + mx.sym.Variable("a")
    assert named.infer_shape(a=(2, 3))[1] == [(2, 3)]
    assert "noise_output" in named.get_internals().list_outputs()


def test_nonsense_is_refused():
    for seed in (1.0, "1", None, [1], np.float32(1), mx.nd.ones((1,))):
        with pytest.raises(TypeError, match="seed_state must be an int, got"):
            mx.random.seed(seed)
    with pytest.raises(ValueError, match="a device such as 'cpu\\(0\\)', got 'tpu'"):
        mx.random.seed(1, ctx="tpu")
    with pytest.raises(ValueError, match=r"no random numbers for gpu\(64\)"):
        mx.random.seed(1, ctx=mx.gpu(64))
