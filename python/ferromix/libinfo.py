"""Where the package's compiled core lies, and its version."""

from __future__ import annotations

from pathlib import Path

from . import _core
from ._core import __version__

__all__ = ["__version__", "find_include_path", "find_lib_path"]


def find_lib_path(prefix: str = "_core") -> list[str]:
    """The files of the compiled core.

    Parameters
    ----------
    prefix
        What their names begin with.

    Examples
    --------
    >>> import ferromix as mx
    >>> len(mx.libinfo.find_lib_path())
    1
    """
    folder = Path(str(_core.__file__)).resolve().parent
    return sorted(str(path) for path in folder.glob(f"{prefix}*.so"))


def find_include_path() -> str:
    """The folder of the headers that the package's device kernels include."""
    return str(Path(__file__).resolve().parent / "kernels" / "include")
