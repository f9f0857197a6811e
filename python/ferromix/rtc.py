"""CUDA kernels of one's own, compiled at run time and launched as operations of the engine.

A launch reads the arrays behind ``const`` pointers and may change those behind the others, and runs
after whoever was pushed before and uses the same memory.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from .base import as_int
from .context import Context, as_context
from .dispatch import gpu
from .error import ArgumentTypeError, InvalidArgumentError
from .ndarray import NDArray

__all__ = ["CudaKernel", "CudaModule"]

_TYPES = {
    "float": ("float32", "f"),
    "double": ("float64", "d"),
    "__half": ("float16", "e"),
    "uint8_t": ("uint8", "B"),
    "int8_t": ("int8", "b"),
    "char": ("int8", "b"),
    "int": ("int32", "i"),
    "int32_t": ("int32", "i"),
    "int64_t": ("int64", "q"),
}
"""The types of a signature: the element type of an array, and how a number is packed."""
_ARGUMENT = re.compile(r"\s*(const\s+)?(\w+)\s*(\*)?\s*(?:__restrict__\s+)?(\w+)?\s*")


class CudaModule:
    """A text of CUDA, compiled when a kernel is first launched on a device.

    Parameters
    ----------
    source
        The text. Kernels are ``extern "C" __global__``, or templates named in `exports`.
    options
        What NVRTC is to be told, such as ``"-lineinfo"``; a string or several.
    exports
        Names of templates that are to be made, such as ``"axpy<float>"``.

    Examples
    --------
    >>> import ferromix as mx
    >>> source = '''
    ... extern "C" __global__ void axpy(const float *x, float *y, float alpha) {
    ...     y[threadIdx.x] += alpha * x[threadIdx.x];
    ... }'''
    >>> module = mx.rtc.CudaModule(source)
    >>> axpy = module.get_kernel("axpy", "const float *x, float *y, float alpha")
    >>> if mx.num_gpus():
    ...     x, y = (mx.nd.ones((10,), ctx=mx.gpu(0)) for _ in range(2))
    ...     axpy.launch([x, y, 3.0], mx.gpu(0), (1, 1, 1), (10, 1, 1))
    """

    def __init__(
        self,
        source: str,
        options: str | Sequence[str] = (),
        exports: str | Sequence[str] = (),
    ) -> None:
        if not isinstance(source, str):
            raise ArgumentTypeError(f"CudaModule: source must be a string, got {type(source)}")
        self._source = source
        self._options = _texts("options", options)
        self._exports = _texts("exports", exports)

    def get_kernel(self, name: str, signature: str) -> CudaKernel:
        """A kernel of the text.

        Parameters
        ----------
        name
            Its name; that of a template as in `exports`.
        signature
            Its arguments as the text declares them, such as ``"const float *x, int n"``. A pointer
            is an array, of which the kernel changes nothing where it is ``const``. Types: float,
            double, __half, uint8_t, int8_t, char, int, int32_t, int64_t.

        Raises
        ------
        InvalidArgumentError
            A signature that cannot be read; names the argument.
        """
        return CudaKernel(self, name, _parsed(name, signature))

    def _function(self, name: str, number: int) -> int:
        return gpu.compiled(self._source, self._options, self._exports, name, number)


class CudaKernel:
    """A kernel with its signature; made by :meth:`CudaModule.get_kernel`."""

    def __init__(self, module: CudaModule, name: str, arguments: list[_Argument]) -> None:
        self._module, self._name, self._arguments = module, name, arguments

    def launch(
        self,
        args: Sequence[Any],
        ctx: Context | str,
        grid_dims: Sequence[int],
        block_dims: Sequence[int],
        shared_mem: int = 0,
    ) -> None:
        """Pushes a launch and returns at once.

        Parameters
        ----------
        args
            NDArrays for the pointers, numbers for the others.
        ctx
            The GPU, on which the arrays are.
        grid_dims, block_dims
            Blocks, and threads of a block, along three axes.
        shared_mem
            Bytes of shared memory of each block that the kernel sizes itself.

        Raises
        ------
        InvalidArgumentError
            Arguments that do not fit the signature; names the kernel and the argument. A text that
            does not compile; the message is the compiler's, with the lines of the text.
        DeviceError
            No such GPU.
        """
        context = as_context(ctx)
        if context.device_type != "gpu":
            raise InvalidArgumentError(f"{self._name}: kernels run on a GPU, got {context}")
        if len(args) != len(self._arguments):
            raise InvalidArgumentError(
                f"{self._name}: the signature has {len(self._arguments)} arguments, got {len(args)}"
            )
        inputs: list[NDArray] = []
        outputs: list[NDArray] = []
        filled = [
            argument.fill(self._name, value, context, inputs, outputs)
            for argument, value in zip(self._arguments, args, strict=True)
        ]
        grid = _extents(f"{self._name}: grid_dims", grid_dims, _MOST_BLOCKS)
        block = _extents(f"{self._name}: block_dims", block_dims, _MOST_THREADS)
        if block[0] * block[1] * block[2] > _MOST_THREADS[0]:
            raise InvalidArgumentError(
                f"{self._name}: block_dims must be at most {_MOST_THREADS[0]} threads in all, got "
                f"{block_dims!r}"
            )
        shared = as_int(f"{self._name}: shared_mem", shared_mem, 0, 2**31 - 1)
        function = self._module._function(self._name, context.device_id)
        launch = (function, grid, block, shared, filled)
        prepared = _core.Prepared.gpu(
            self._name,
            context.device_id,
            [launch],
            0,
            False,
            False,
            (),
            [(a.shape, a.handle.dtype) for a in inputs],
            [(a.shape, a.handle.dtype) for a in outputs],
            0,
            None,
            [],
        )
        prepared.invoke(
            [a.handle for a in inputs], [a.handle for a in outputs], [_WRITE] * len(outputs)
        )


_WRITE = 1
_MOST_BLOCKS = (2**31 - 1, 2**16 - 1, 2**16 - 1)
_MOST_THREADS = (1024, 1024, 64)
"""Along each axis, on every GPU."""


class _Argument:
    """One argument of a signature."""

    def __init__(self, name: str, kind: str, pointer: bool, const: bool) -> None:
        self.name, self.kind, self.pointer, self.const = name, kind, pointer, const

    def fill(
        self,
        kernel: str,
        value: Any,
        context: Context,
        inputs: list[NDArray],
        outputs: list[NDArray],
    ) -> tuple[str, Any]:
        """What the kernel gets for a value; an array joins the inputs, or the outputs."""
        dtype, packed = _TYPES[self.kind]
        if not self.pointer:
            if not isinstance(value, int | float | np.number):
                raise ArgumentTypeError(
                    f"{kernel}: argument '{self.name}' must be a number, got {type(value)}"
                )
            try:
                number = float(value) if packed in "fde" else int(value)
                return "bytes", struct.pack(f"={packed}", number)
            except (struct.error, OverflowError, ValueError) as error:
                raise InvalidArgumentError(
                    f"{kernel}: argument '{self.name}' is {self.kind}, not {value}: {error}"
                ) from error
        if not isinstance(value, NDArray):
            raise ArgumentTypeError(
                f"{kernel}: argument '{self.name}' must be an NDArray, got {type(value)}"
            )
        if value.stype != "default":
            raise InvalidArgumentError(
                f"{kernel}: argument '{self.name}' must be a dense array, got a {value.stype} one; "
                "take its data, or tostype('default')"
            )
        if value.handle.dtype != dtype:
            raise InvalidArgumentError(
                f"{kernel}: argument '{self.name}' is {self.kind}, so its array must be {dtype}, "
                f"got {value.handle.dtype}"
            )
        if value.context != context:
            raise InvalidArgumentError(
                f"{kernel}: argument '{self.name}' is on {value.context}, the launch on {context}"
            )
        arrays, kind = (inputs, "input") if self.const else (outputs, "output")
        arrays.append(value)
        return kind, len(arrays) - 1


def _texts(what: str, given: str | Sequence[str]) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(text, str) for text in texts):
        raise ArgumentTypeError(f"CudaModule: {what} must be strings, got {given!r}")
    return texts


def _parsed(kernel: str, signature: str) -> list[_Argument]:
    arguments = []
    for place, text in enumerate(re.sub(r"\s+", " ", signature).split(",")):
        found = _ARGUMENT.fullmatch(text)
        if found is None or found[2] == "const":
            raise InvalidArgumentError(
                f"{kernel}: cannot read argument {place} of the signature, '{text.strip()}'; write "
                "such as 'const float *x' or 'int n'"
            )
        if found[2] not in _TYPES:
            raise InvalidArgumentError(
                f"{kernel}: argument {place} of the signature has the type '{found[2]}'; known: "
                f"{', '.join(_TYPES)}"
            )
        name = found[4] or f"argument {place}"
        arguments.append(_Argument(name, found[2], bool(found[3]), bool(found[1])))
    return arguments


def _extents(what: str, given: Sequence[int], most: tuple[int, int, int]) -> tuple[int, int, int]:
    extents = tuple(given)
    fits = len(extents) == 3 and all(
        isinstance(n, int | np.integer) and 0 < n <= limit
        for n, limit in zip(extents, most, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"{what} must be three positive numbers, at most {most}, got {given!r}"
        )
    return int(extents[0]), int(extents[1]), int(extents[2])
