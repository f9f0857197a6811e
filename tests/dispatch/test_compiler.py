"""Texts of CUDA become machine code once, by the real compiler; no GPU runs it here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from nvrtc import AS_CUPY

from ferromix.dispatch import compiler
from ferromix.error import InvalidArgumentError

TEXT = """
extern "C" __global__ void halve(float *x) { x[threadIdx.x] *= 0.5f; }
template <class T> __global__ void twice(T *x) { x[threadIdx.x] *= 2; }
"""


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """How often the compiler runs, with a cache of its own."""
    monkeypatch.setenv("FERROMIX_CACHE", str(tmp_path))
    calls = []

    def compile_program(program, options):
        calls.append(options)
        AS_CUPY.compileProgram(program, options)

    return SimpleNamespace(**vars(AS_CUPY) | {"compileProgram": compile_program}), calls


def test_a_text_is_compiled_once(counted, tmp_path):
    nvrtc, calls = counted
    made = compiler.kept(nvrtc, TEXT, ("--std=c++17",), (8, 0))
    assert made.startswith(b"\x7fELF")
    assert compiler.kept(nvrtc, TEXT, ("--std=c++17",), (8, 0)) == made
    assert calls == [("--std=c++17", "--gpu-architecture=sm_80")]
    compiler.kept(nvrtc, TEXT, ("--std=c++17", "-DX=1"), (8, 0))
    compiler.kept(nvrtc, TEXT, ("--std=c++17",), (8, 6))
    assert len(calls) == 3
    assert len(list(tmp_path.glob("cuda/*.cubin"))) == 3


def test_a_gpu_newer_than_the_compiler_gets_what_its_driver_translates(counted):
    nvrtc, calls = counted
    made = compiler.kept(nvrtc, TEXT, (), (99, 0))
    newest = max(AS_CUPY.getSupportedArchs())
    assert calls == [(f"--gpu-architecture=compute_{newest}",)]
    assert f".target sm_{newest}".encode() in made


def test_subnormal_numbers_stay_what_they_are(counted):
    ptx = compiler.kept(counted[0], TEXT, (), (99, 0))
    assert b"mul.f32" in ptx or b"mul.rn.f32" in ptx
    assert b".ftz" not in ptx


def test_templates_have_the_names_of_the_machine_code(counted):
    code, names = compiler.compiled(counted[0], TEXT, (), ("twice<float>", "twice<int>"), (8, 0))
    assert set(names) == {"twice<float>", "twice<int>"}
    assert all(name.encode() in code for name in names.values())


def test_what_does_not_compile_says_where(counted, tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"source.cu\(2\): error: .*nope"):
        compiler.kept(counted[0], "__global__ void f() {\nnope();}", (), (8, 0))
    with pytest.raises(InvalidArgumentError, match="unrecognized option"):
        compiler.compiled(counted[0], TEXT, ("--no-such-thing",), (), (8, 0))
    assert not list(tmp_path.glob("cuda/*.cubin"))


def test_without_a_folder_to_write_to_kernels_are_compiled_anew(counted, monkeypatch, tmp_path):
    nvrtc, calls = counted
    (tmp_path / "file").touch()
    monkeypatch.setenv("FERROMIX_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=r"not kept .*set FERROMIX_CACHE"):
            assert compiler.kept(nvrtc, TEXT, (), (8, 0)).startswith(b"\x7fELF")
    assert len(calls) == 2
