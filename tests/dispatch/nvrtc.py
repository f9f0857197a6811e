"""NVRTC, the compiler for CUDA sources, through the library of its PyPI wheel. Needs no GPU."""

from __future__ import annotations

import ctypes
from importlib.metadata import distribution
from types import SimpleNamespace


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


def bytes_of(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


class NvrtcError(Exception):
    """As CuPy's ``NVRTCError``."""


def create(text: str, name: str, headers: tuple, names: tuple) -> ctypes.c_void_p:
    nvrtc, program = library(), ctypes.c_void_p()
    given = (ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    check(nvrtc, nvrtc.nvrtcCreateProgram(*given))
    return program


def run(program: ctypes.c_void_p, options: tuple[str, ...]) -> None:
    given = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = library().nvrtcCompileProgram(program, len(options), given)
    if failed:
        raise NvrtcError(f"NVRTC failed with result {failed}")


def lowered(program: ctypes.c_void_p, name: str) -> str:
    nvrtc, found = library(), ctypes.c_char_p()
    check(nvrtc, nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(found)))
    return (found.value or b"").decode()


def architectures() -> tuple[int, ...]:
    nvrtc, count = library(), ctypes.c_int()
    check(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    found = (ctypes.c_int * count.value)()
    check(nvrtc, nvrtc.nvrtcGetSupportedArchs(found))
    return tuple(found)


def version() -> tuple[int, int]:
    nvrtc, major, minor = library(), ctypes.c_int(), ctypes.c_int()
    check(nvrtc, nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


AS_CUPY = SimpleNamespace(
    NVRTCError=NvrtcError,
    createProgram=create,
    compileProgram=run,
    addNameExpression=lambda program, name: check(
        library(), library().nvrtcAddNameExpression(program, name.encode())
    ),
    getProgramLog=lambda program: text_of(library(), program, "ProgramLog"),
    getPTX=lambda program: bytes_of(library(), program, "PTX"),
    getCUBIN=lambda program: bytes_of(library(), program, "CUBIN"),
    getLoweredName=lowered,
    getSupportedArchs=architectures,
    getVersion=version,
    destroyProgram=lambda program: check(
        library(), library().nvrtcDestroyProgram(ctypes.byref(program))
    ),
)
"""The functions of CuPy's module of this name."""


def compile_ptx(text: str, name: str, options: list[str]) -> tuple[str, str]:
    """The PTX of a source, empty if it does not compile, and the compiler's messages."""
    program = create(text, name, (), ())
    try:
        try:
            run(program, tuple(options))
        except NvrtcError as error:
            return "", AS_CUPY.getProgramLog(program) or str(error)
        return text_of(library(), program, "PTX"), AS_CUPY.getProgramLog(program)
    finally:
        AS_CUPY.destroyProgram(program)
