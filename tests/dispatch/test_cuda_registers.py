"""Large blocks have registers for all of their threads, by the assembler that comes with NVRTC.

A thread may get 255 registers, and a block 65,536: where a recipe launches more than 256 threads,
the kernel has to do with fewer, or a GPU refuses the launch. The stand-in has no registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import pytest
from launches import Sources
from nvrtc import compile_ptx
from test_recipe_cases import BY_OPERATOR, Runner, calls_of

from ferromix.dispatch import recipe
from ferromix.dispatch.recipe import Launch, Limits
from ferromix.dispatch.source import CODES, OPTIONS, only, source

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

REGISTERS, STEP = 65536, 8
"""Those of a block, and how many more a thread gets at once."""
USUAL = 256
LIMITS = Limits(processors=132, threads=USUAL)
"""A device so large that the cases have few outputs for it, which get the largest blocks."""
LARGE = [
    ("csr", ["row_sums", "dot"], 1024),
    ("linalg_factors", ["definite", "panel", "reflect"], 512),
    ("linalg_eigen", ["reduce"], 512),
]
"""Threads that no case launches as many of: of sparse arrays, and of larger matrices."""
SOME = {("70", "float64"), ("90", "float32")}
"""Generations, and types, of which the night has the others; the oldest takes most registers."""
PAIRS = [
    pytest.param(*pair, marks=[] if pair in SOME else pytest.mark.nightly)
    for pair in product(["70", "80", "90", "100", "120"], CODES)
]


def launches() -> Iterator[Launch]:
    """Those of all cases."""
    seen = set()
    for case in (c for cases in BY_OPERATOR.values() for c in cases):
        for call, _ in (pair for dtype in case.types() for pair in calls_of(case, dtype)):
            key = call.card.name, repr(call.card.attrs), call.descs, call.train
            if key in seen or not recipe.find(call.card.kernel_name()):
                continue
            seen.add(key)
            runner = Runner(Sources(), call, LIMITS)
            _, made = runner.made(*runner.arrays())
            yield from (one for one in (made.launches if made else ()) if isinstance(one, Launch))


@pytest.fixture(scope="module")
def blocks() -> dict[str, dict[str, int]]:
    """By sources, the entry points that may get more than the usual threads, and how many."""
    found: dict[str, dict[str, int]] = {}
    for one in launches():
        threads = one.block[0] * one.block[1] * one.block[2]
        if threads > USUAL:
            entries = found.setdefault(one.stem, {})
            entries[one.entry] = max(threads, entries.get(one.entry, 0))
    for stem, words, threads in LARGE:
        entries = found.setdefault(stem, {})
        entries |= {f"{stem}_{w}_{t}": threads for w, t in product(words, CODES)}
    return found


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Processes, as in the tests that sources compile."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as made:
        yield made


def used(log: str) -> dict[str, int]:
    """Registers of a thread, by entry points, as the assembler tells them."""
    parts = re.split(r"Compiling entry function '(\w+)'", log)
    found = zip(parts[1::2], parts[2::2], strict=True)
    return {name: int(re.findall(r"Used (\d+) registers", text)[0]) for name, text in found}


@pytest.mark.parametrize(("generation", "dtype"), PAIRS)
def test_large_blocks_have_registers(blocks, pool, generation, dtype):
    of_type = only(f"_{dtype}")
    options = [*OPTIONS, f"--gpu-architecture=sm_{generation}", "--ptxas-options=-v", *of_type]
    stems = [s for s, entries in blocks.items() if any(only(e) == of_type for e in entries)]
    jobs = {s: pool.submit(compile_ptx, source(s), f"{s}.cu", options) for s in stems}
    told = {s: used(job.result()[1]) for s, job in jobs.items()}
    assert any(told.values())
    for stem in stems:
        for entry in sorted(told[stem].keys() & blocks[stem].keys()):
            threads, registers = blocks[stem][entry], told[stem][entry]
            whole = -(-registers // STEP) * STEP * threads
            assert whole <= REGISTERS, f"{entry}: {threads} threads of {registers} registers"


def test_the_assembler_tells_of_registers():
    text = 'extern "C" __global__ void one(float *x) { x[threadIdx.x] += 1; }'
    options = [*OPTIONS, "--gpu-architecture=sm_90", "--ptxas-options=-v"]
    _, log = compile_ptx(text, "one.cu", options)
    assert list(used(log)) == ["one"]
    assert 1 < used(log)["one"] < 32
