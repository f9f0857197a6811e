"""Loggers that write where a message comes from, in MXNet's form and colours."""

from __future__ import annotations

import logging
import os
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING
from weakref import WeakSet

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "NOTSET",
    "WARNING",
    "getLogger",
    "get_logger",
]

_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}
_RED, _GREEN, _BLUE = 31, 32, 34
_given: WeakSet[logging.Logger] = WeakSet()
"""The loggers that are set up."""


class _Formatter(logging.Formatter):
    """``I1125 19:33:37 4711 train.py:main:3]`` in the level's colour, and the message."""

    def __init__(self) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its base's name
        level = record.levelno
        colour = _RED if level >= WARNING else _GREEN if level >= INFO else _BLUE
        head = f"{_LETTERS.get(level, 'U')}{self.formatTime(record, self.datefmt)} {record.process}"
        place = f"{record.pathname}:{record.funcName}:{record.lineno}]"
        return f"\x1b[{colour}m{head} {place}\x1b[0m {record.message}"


def get_logger(
    name: str | None = None,
    filename: str | os.PathLike[str] | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """A logger that writes to the standard error output, or plain messages to a file.

    Parameters
    ----------
    name
        The logger's name; without one it is the root logger, which stays as it is.
    filename
        Where messages go instead.
    filemode
        How the file is opened, ``"a"`` by default.
    level
        The least level of what is written. A logger that this function gave before keeps its own,
        and its file.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.log.get_logger("training", level=mx.log.INFO).level == mx.log.INFO
    True
    """
    logger = logging.getLogger(name)
    if name is None or logger in _given:
        return logger
    if filename is None:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter())
    else:
        handler = logging.FileHandler(filename, filemode or "a")
    logger.addHandler(handler)
    logger.setLevel(level)
    _given.add(logger)
    return logger


def getLogger(  # noqa: N802 - MXNet's name
    name: str | None = None,
    filename: str | os.PathLike[str] | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """The old name of :func:`get_logger`."""
    warnings.warn("getLogger is deprecated; use get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
