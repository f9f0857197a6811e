"""Every CUDA source compiles without a warning; its entry points are the rows of the Rust table.

A new elementwise operator without its CUDA row fails here, by name.
"""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import pytest
from nvrtc import compile_ptx
from table import DTYPES, INPUTS, rows

from ferromix.dispatch.source import OPTIONS, names, source

# All sources are compiled before the first test ends: minutes on a busy machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

GENERATIONS = ["70", "80", "90"]
ONE = f"-DFM_ONLY={DTYPES['float16']}"


@pytest.fixture(scope="module")
def compiled():
    """PTX and messages by stem and architecture: of all types for virtual architectures, of one
    type for real ones, for which the assembler checks the instructions of halves, too.

    Two processes compile; with two threads, NVRTC 12.9 has been seen to wait for itself forever.
    """
    stems = sorted(names(), key=lambda stem: -len(source(stem)))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = {}
        for kind, more in (("compute", []), ("sm", [ONE])):
            for stem, generation in product(stems, GENERATIONS):
                options = [*OPTIONS, f"--gpu-architecture={kind}_{generation}", *more]
                job = pool.submit(compile_ptx, source(stem), f"{stem}.cu", options)
                jobs[stem, f"{kind}_{generation}"] = job
        yield lambda stem, architecture: told(*jobs[stem, architecture].result())
        pool.shutdown(cancel_futures=True)


def told(ptx: str, log: str) -> tuple[str, str]:
    """Without the one warning that is about the compiler's future, not about the source."""
    return ptx, re.sub(r"nvrtc: warning: Architectures prior to .* are deprecated .*\n", "", log)


def entries(ptx: str) -> set[str]:
    return set(re.findall(r"^\.visible \.entry (\w+)\(", ptx, re.MULTILINE))


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("stem", names())
def test_compiles_without_warnings(compiled, stem, generation):
    ptx, log = compiled(stem, f"compute_{generation}")
    assert log == ""
    assert f".target sm_{generation}" in ptx
    assert entries(ptx)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("stem", names())
def test_one_type_alone_becomes_machine_code(compiled, stem, generation):
    ptx, log = compiled(stem, f"sm_{generation}")
    assert log == ""
    assert entries(ptx)
    assert all(name.endswith("_float16") for name in entries(ptx))


@pytest.mark.parametrize("stem", list(INPUTS))
def test_entry_points_are_the_rows_of_the_rust_table(compiled, stem):
    ptx, _ = compiled(stem, "compute_80")
    expected = {row.entry for row in rows(stem)}
    missing, unknown = expected - entries(ptx), entries(ptx) - expected
    assert expected, f"the Rust table has no rows of {stem}.rs"
    assert not missing, f"kernels/{stem}.cu lacks {', '.join(sorted(missing))}"
    assert not unknown, f"no Rust kernel is like {', '.join(sorted(unknown))} of {stem}.cu"


def test_errors_and_warnings_are_told_with_their_place():
    """What the other tests rely on: the compiler's messages arrive, under the file's name."""
    ptx, log = compile_ptx('#line 7 "x.cuh"\nint f() { return y; }', "a.cu", list(OPTIONS))
    assert ptx == ""
    assert "x.cuh(7): error" in log
    ptx, log = compile_ptx("__device__ int f() { int unused; return 1; }", "a.cu", list(OPTIONS))
    assert ptx != ""
    assert "unused" in log
