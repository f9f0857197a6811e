"""Where the package's compiled core lies, and two versions: the interface's and the package's own.

Scripts for MXNet compare ``mx.__version__`` to learn which functions and defaults they have. So it
is the version of MXNet whose interface this is, not how far Ferromix has come.
"""

from __future__ import annotations

from pathlib import Path

from . import _core

__all__ = ["__version__", "ferromix_version", "find_include_path", "find_lib_path"]

__version__ = "1.9.1"
"""The version of MXNet whose interface Ferromix has."""

ferromix_version: str = _core.__version__
"""The version of Ferromix itself, that of the installed distribution."""


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
