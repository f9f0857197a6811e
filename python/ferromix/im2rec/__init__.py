"""Image folders made into lists and RecordIO files: ``python -m ferromix.im2rec prefix root``.

It takes the options of MXNet's ``tools/im2rec.py`` and makes the same files.
"""

from .command import main
from .options import parser

__all__ = ["main", "parser"]
