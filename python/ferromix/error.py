"""The exceptions of Ferromix, each also the built-in exception that a caller would expect.

The Rust core raises these same classes, and an error raised on a worker thread surfaces as one of
them at the next wait.
"""

__all__ = [
    "ArgumentTypeError",
    "DTypeError",
    "DeprecatedError",
    "FileAccessError",
    "FileFormatError",
    "InternalError",
    "InvalidArgumentError",
    "MXNetError",
    "MissingFileError",
    "OutOfMemoryError",
    "ScheduledRateError",
]


class MXNetError(RuntimeError):
    """The base of every error that Ferromix raises, under MXNet's name."""


class InvalidArgumentError(MXNetError, ValueError):
    """A value, a shape or an attribute that does not fit."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument of another kind than it must be, such as a string where an int belongs."""


class DTypeError(MXNetError, TypeError):
    """An element type that does not fit."""


class OutOfMemoryError(MXNetError, MemoryError):
    """Memory that could not be had; the message says what was asked for and what is in use."""


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


class InternalError(MXNetError):
    """A fault of Ferromix itself; please report it."""
