"""Loggers in MXNet's form, and names where MXNet's modules have them."""

from __future__ import annotations

import importlib
import logging
import re

import numpy as np
import pytest

import ferromix as mx


@pytest.mark.parametrize(
    ("level", "colour", "letter"),
    [(5, 34, "U"), (10, 34, "D"), (20, 32, "I"), (25, 32, "U"), (30, 31, "W"), (50, 31, "C")],
)
def test_a_line_says_where_it_comes_from(level, colour, letter):
    logger = mx.log.get_logger("ferromix test of lines")
    record = logging.LogRecord("x", level, "/x/f.py", 3, "about %d", (7,), None, "main")
    line = logger.handlers[0].format(record)
    pattern = rf"\x1b\[{colour}m{letter}\d{{4}} \d\d:\d\d:\d\d \d+ /x/f.py:main:3\]\x1b\[0m about 7"
    assert re.fullmatch(pattern, line)


def test_a_logger_is_set_up_once(tmp_path):
    path = tmp_path / "log"
    logger = mx.log.get_logger("ferromix test of files", path, level=mx.log.INFO)
    logger.info("one")
    logger.debug("two")
    assert mx.log.get_logger("ferromix test of files", level=mx.log.DEBUG) is logger
    assert logger.level == mx.log.INFO
    assert path.read_text() == "one\n"
    logger.handlers[0].close()
    assert mx.log.get_logger() is logging.getLogger()
    with pytest.warns(DeprecationWarning, match="use get_logger"):
        assert mx.log.getLogger("ferromix test of lines") is not logger


def test_names_that_scripts_take_from_modules_of_mxnet():
    for path, name, expected in (
        ("optimizer.optimizer", "SGD", mx.optimizer.SGD),
        ("optimizer.optimizer", "zeros", mx.nd.zeros),
        ("model", "kvs", mx.kvstore),
        ("module.bucketing_module", "ctx", mx.context),
        ("rnn.rnn_cell", "symbol", mx.sym),
        ("ndarray.contrib", "mx", mx),
        ("base", "mx_real_t", np.float32),
    ):
        assert getattr(importlib.import_module(f"ferromix.{path}"), name) is expected
    assert isinstance(3, mx.base.integer_types)
