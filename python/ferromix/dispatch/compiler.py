"""Compiles texts of CUDA by NVRTC, as CuPy finds it.

CuPy's own ``RawModule`` has the compiler take subnormal numbers for zero, whatever its options say.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..error import InvalidArgumentError
from .disk import once, place

__all__ = ["compiled", "kept"]

_LOCK = threading.Lock()
"""One thread at a time: with two, NVRTC 12.9 has been seen to wait for itself forever."""


def kept(nvrtc: Any, text: str, options: Sequence[str], capability: tuple[int, int]) -> bytes:
    """Machine code of a text of ours, which stays on disk; a warning says where it cannot.

    Parameters
    ----------
    nvrtc
        CuPy's module of this name.
    text
        The source; it includes nothing.
    options
        What the compiler is told.
    capability
        The compute capability of the GPU.

    Raises
    ------
    InvalidArgumentError
        It does not compile; with the compiler's message.
    """
    options = *options, _architecture(nvrtc, capability)
    parts = [*options, ".".join(map(str, nvrtc.getVersion())), text]

    def make(folder: Path) -> Path:
        done = folder / "kernels"
        done.write_bytes(_compiled(nvrtc, text, options, ())[0])
        return done

    try:
        return once(place("cuda", "kernels.cubin", map(str.encode, parts)), make).read_bytes()
    except OSError as error:
        warnings.warn(
            f"compiled kernels are not kept ({error}), so that each process compiles them anew; "
            "set FERROMIX_CACHE to a folder that it may write to",
            RuntimeWarning,
            stacklevel=2,
        )
        return _compiled(nvrtc, text, options, ())[0]


def compiled(
    nvrtc: Any,
    text: str,
    options: Sequence[str],
    exports: Sequence[str],
    capability: tuple[int, int],
) -> tuple[bytes, dict[str, str]]:
    """Machine code of a text, and what the kernels that `exports` names are called in it.

    Parameters and errors are those of :func:`kept`; exports are templates, such as
    ``"axpy<float>"``.
    """
    return _compiled(nvrtc, text, (*options, _architecture(nvrtc, capability)), exports)


def _architecture(nvrtc: Any, capability: tuple[int, int]) -> str:
    """The GPU's own code, or, for a GPU newer than the compiler, what its driver makes code of."""
    number = 10 * capability[0] + capability[1]
    known = [each for each in nvrtc.getSupportedArchs() if each <= number]
    newest = max(known, default=number)
    return f"--gpu-architecture={'sm' if newest == number else 'compute'}_{newest}"


def _compiled(
    nvrtc: Any, text: str, options: Sequence[str], exports: Sequence[str]
) -> tuple[bytes, dict[str, str]]:
    program = nvrtc.createProgram(text, "source.cu", (), ())
    try:
        for name in exports:
            nvrtc.addNameExpression(program, name)
        try:
            with _LOCK:
                nvrtc.compileProgram(program, tuple(options))
        except nvrtc.NVRTCError as error:
            said = nvrtc.getProgramLog(program)
            raise InvalidArgumentError(said.strip() or str(error)) from error
        virtual = any("=compute_" in option for option in options)
        code = nvrtc.getPTX(program) if virtual else nvrtc.getCUBIN(program)
        return code, {name: nvrtc.getLoweredName(program, name) for name in exports}
    finally:
        nvrtc.destroyProgram(program)
