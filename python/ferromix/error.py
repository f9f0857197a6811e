"""The exceptions of Ferromix, each also the built-in exception that a caller would expect.

The Rust core raises these same classes, and an error raised on a worker thread surfaces as one of
them at the next wait.
"""

from collections.abc import Callable

__all__ = [
    "ArgumentTypeError",
    "DTypeError",
    "DeprecatedError",
    "DeviceError",
    "FileAccessError",
    "FileFormatError",
    "IndexOutOfBoundsError",
    "InternalError",
    "InvalidArgumentError",
    "MXNetError",
    "MissingFileError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "OutOfMemoryError",
    "ScheduledRateError",
    "UnknownTruthError",
]


class MXNetError(RuntimeError):
    """The base of every error that Ferromix raises, under MXNet's name."""


class InvalidArgumentError(MXNetError, ValueError):
    """A value, a shape or an attribute that does not fit."""


class IndexOutOfBoundsError(InvalidArgumentError, IndexError):
    """An index that an axis lacks; the message says which one, and how long the axis is."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument of another kind than it must be, such as a string where an int belongs."""


class DTypeError(MXNetError, TypeError):
    """An element type that does not fit."""


class OutOfMemoryError(MXNetError, MemoryError):
    """Memory that could not be had; the message says what was asked for and what is in use."""


class DeviceError(MXNetError):
    """A GPU that is not there, or that failed; the message says what is missing, or what broke."""


class FileFormatError(MXNetError, ValueError):
    """A file that is malformed; the message says where, what was expected and what was found."""


class FileAccessError(OSError, MXNetError):
    """A file that cannot be read or written, with the system's ``errno`` and ``filename``."""


class MissingFileError(FileAccessError, FileNotFoundError):
    """A file, or a folder for one, that is not there."""


class ScheduledRateError(InvalidArgumentError, UserWarning):
    """A learning rate that is set although a schedule decides it; a UserWarning, as in MXNet."""


class DeprecatedError(MXNetError, DeprecationWarning):
    """What MXNet has given up, and refuses by raising a DeprecationWarning."""


class _UnsupportedError(MXNetError):
    """A function that does not take what it was given."""

    what = ""
    advice = ""

    def __init__(
        self, function: Callable[..., object] | str, alias: str | None, *args: object
    ) -> None:
        name = function if isinstance(function, str) else function.__name__
        operator = f' (namely operator "{alias}")' if alias else ""
        kinds = f" with arguments ({', '.join(str(type(a)) for a in args)})" if args else ""
        super().__init__(
            f"Function {name}{operator}{kinds} is not {self.what} and only available in NDArray."
            f"{self.advice}"
        )
        self.function = name
        self.alias = alias


class NotImplementedForSymbol(_UnsupportedError):  # noqa: N818
    """A function of arrays that was called with symbols."""

    what = "implemented for Symbol"


class UnknownTruthError(NotImplementedForSymbol, InvalidArgumentError):
    """A symbol whose truth was asked for, which is not known before it is computed."""

    advice = (
        " Its truth is not known before it is computed; use 'is None' to test for a missing one, "
        "and operators such as mx.sym.where to choose between values."
    )


class NotSupportedForSparseNDArray(_UnsupportedError):  # noqa: N818
    """A function of dense arrays that was called with sparse ones."""

    what = "supported for SparseNDArray"


class InternalError(MXNetError):
    """A fault of Ferromix itself; please report it."""
