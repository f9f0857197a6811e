"""NVRTC, the compiler for CUDA sources, through the library of its PyPI wheel. Needs no GPU."""

from __future__ import annotations

import ctypes
from importlib.metadata import distribution


def library() -> ctypes.CDLL:
    files = distribution("nvidia-cuda-nvrtc-cu12").files or []
    path = next(f for f in files if f.name == "libnvrtc.so.12")
    return ctypes.CDLL(str(path.locate()))


def check(nvrtc: ctypes.CDLL, result: int) -> None:
    if result != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(nvrtc.nvrtcGetErrorString(result).decode())


def text_of(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.value.decode()


def compile_ptx(text: str, name: str, options: list[str]) -> tuple[str, str]:
    """The PTX of a source, empty if it does not compile, and the compiler's messages."""
    nvrtc, program = library(), ctypes.c_void_p()
    create = (ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    check(nvrtc, nvrtc.nvrtcCreateProgram(*create))
    try:
        given = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        failed = nvrtc.nvrtcCompileProgram(program, len(options), given)
        log = text_of(nvrtc, program, "ProgramLog")
        if failed:
            return "", log or f"NVRTC failed with result {failed}"
        return text_of(nvrtc, program, "PTX"), log
    finally:
        check(nvrtc, nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
