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
from table import INPUTS, rows

from ferromix.dispatch import fusion
from ferromix.dispatch.recipe import Job, Limits
from ferromix.dispatch.source import OPTIONS, names, only, source
from ferromix.ops.card import make
from ferromix.ops.fused import fused

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

OLDEST = "compute_70"
"""What all types are compiled for: later generations have what the oldest one has."""
GENERATIONS = ["70", "80", "90", "100", "120"]
DEPENDENT = {"elemwise", "dot"}
"""Sources of which more depends on it: conversions of halves, products on tensor cores."""
HALVES = [
    (stem, generation, dtype)
    for stem in names()
    for generation, dtype in product(GENERATIONS, ["float16", "bfloat16"])
    if stem in DEPENDENT or (generation, dtype) in (("70", "float16"), ("120", "bfloat16"))
]
"""Real generations with the types whose instructions depend on them: all types take a minute each.
Most sources have the oldest one, where halves are float32, and the newest."""
ROUNDED = [("dot", "80"), ("dot", "90"), ("dot", "100"), ("dot", "120"), ("convolution", "80")]
"""Sources and real generations with kernels that round float32 for tensor cores."""
LATER = ["75", "80", "86", "89", "90", "100", "120"]


@pytest.fixture(scope="module")
def compiled():
    """PTX and messages by stem, architecture and type: of all types ("") for a virtual one, of
    halves for real ones, for which the assembler checks their instructions, too.

    Two processes compile; with two threads, NVRTC 12.9 has been seen to wait for itself forever.
    """
    stems = sorted(names(), key=lambda stem: -len(source(stem)))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = {}
        real = [(stem, f"sm_{generation}", dtype) for stem, generation, dtype in HALVES]
        real += [(stem, f"sm_{generation}", "tf32_float32") for stem, generation in ROUNDED]
        for stem, architecture, dtype in [*((s, OLDEST, "") for s in stems), *real]:
            options = [*OPTIONS, f"--gpu-architecture={architecture}", *only(f"_{dtype}")]
            job = pool.submit(compile_ptx, source(stem), f"{stem}.cu", options)
            jobs[stem, architecture, dtype] = job
        yield lambda *which: told(*jobs[which].result())
        pool.shutdown(cancel_futures=True)


def told(ptx: str, log: str) -> tuple[str, str]:
    """Without the one warning that is about the compiler's future, not about the source."""
    return ptx, re.sub(r"nvrtc: warning: Architectures prior to .* are deprecated .*\n", "", log)


def entries(ptx: str) -> set[str]:
    return set(re.findall(r"^\.visible \.entry (\w+)\(", ptx, re.MULTILINE))


@pytest.mark.parametrize("stem", names())
def test_compiles_without_warnings(compiled, stem):
    ptx, log = compiled(stem, OLDEST, "")
    assert log == ""
    assert ".target sm_70" in ptx
    assert entries(ptx)


@pytest.mark.parametrize(("stem", "generation", "dtype"), HALVES)
def test_halves_become_machine_code(compiled, stem, generation, dtype):
    ptx, log = compiled(stem, f"sm_{generation}", dtype)
    assert log == ""
    of_all = entries(compiled(stem, OLDEST, "")[0])
    assert entries(ptx) == {e for e in of_all if re.search(rf"_{dtype}(_finish)?$", e)}


@pytest.mark.parametrize(("stem", "generation"), ROUNDED)
def test_tensor_cores_of_float32_become_machine_code(compiled, stem, generation):
    ptx, log = compiled(stem, f"sm_{generation}", "tf32_float32")
    assert log == ""
    more = entries(ptx) - entries(compiled(stem, OLDEST, "")[0])
    assert more == {entry for entry in entries(ptx) if "_tf32_" in entry}
    assert more
    assert ptx.count("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") >= len(more)


@pytest.mark.nightly
@pytest.mark.parametrize("stem", names())
def test_compiles_for_later_generations(stem):
    for generation in LATER:
        options = [*OPTIONS, f"--gpu-architecture=compute_{generation}"]
        ptx, log = told(*compile_ptx(source(stem), f"{stem}.cu", options))
        assert log == "", generation
        assert entries(ptx), generation


@pytest.mark.parametrize("stem", list(INPUTS))
def test_entry_points_are_the_rows_of_the_rust_table(compiled, stem):
    ptx, _ = compiled(stem, OLDEST, "")
    expected = {row.entry for row in rows(stem)}
    missing, unknown = expected - entries(ptx), entries(ptx) - expected
    assert expected, f"the Rust table has no rows of {stem}.rs"
    assert not missing, f"kernels/{stem}.cu lacks {', '.join(sorted(missing))}"
    assert not unknown, f"no Rust kernel is like {', '.join(sorted(unknown))} of {stem}.cu"


@pytest.mark.parametrize(
    ("dtype", "architecture"), [("float32", OLDEST), ("float16", "sm_80"), ("bfloat16", "sm_120")]
)
def test_generated_kernels_compile(dtype, architecture):
    parts = [
        (make("broadcast_hypot", {}), (0, 1)),
        (make("_rpower_scalar", {"scalar": 2.0}), (2,)),
        (make("LeakyReLU", {"act_type": "gelu"}), (3,)),
        (make("_mul_scalar", {"scalar": 0.5}), (4,)),
        (make("broadcast_greater", {}), (5, 0)),
    ]
    desc = ((4, 5), dtype)
    card = fused(tuple(parts), 2)
    job = Job(card, card.name, {}, [desc, desc], [desc], False, (), Limits(processors=8))
    (launch,) = fusion.recipe_of(job, card).launches
    options = [*OPTIONS, f"--gpu-architecture={architecture}"]
    ptx, log = told(*compile_ptx(launch.text, "fused.cu", options))
    assert log == ""
    assert entries(ptx) == {launch.entry}


def test_errors_and_warnings_are_told_with_their_place():
    """What the other tests rely on: the compiler's messages arrive, under the file's name."""
    ptx, log = compile_ptx('#line 7 "x.cuh"\nint f() { return y; }', "a.cu", list(OPTIONS))
    assert ptx == ""
    assert "x.cuh(7): error" in log
    ptx, log = compile_ptx("__device__ int f() { int unused; return 1; }", "a.cu", list(OPTIONS))
    assert ptx != ""
    assert "unused" in log
