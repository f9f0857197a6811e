"""Every kernel row has a recipe for GPUs, or a reason for having none that users accept."""

from __future__ import annotations

import re

import pytest

import ferromix.dispatch.recipes  # noqa: F401 - registers them
from ferromix import _core
from ferromix.dispatch import recipe
from ferromix.dispatch.reasons import in_part, reason, without

ROWS = set(_core.kernel_names())


def test_every_row_has_a_recipe_or_a_reason_and_not_both():
    with_recipe, excused = set(recipe.rows()), set(without())
    neither, both = ROWS - with_recipe - excused, with_recipe & excused
    assert not neither, f"neither a recipe nor a reason: {', '.join(sorted(neither))}"
    assert not both, f"a recipe, and a reason for having none: {', '.join(sorted(both))}"


def test_recipes_and_reasons_are_for_rows_that_there_are():
    unknown = {*recipe.rows(), *without(), *in_part()} - ROWS
    assert not unknown, f"no kernel rows: {', '.join(sorted(unknown))}"


def test_what_leaves_some_cases_to_the_cpu_has_a_recipe():
    idle = set(in_part()) - set(recipe.rows())
    assert not idle, f"cases are left by what has no recipe: {', '.join(sorted(idle))}"


@pytest.mark.parametrize("row", sorted({**without(), **in_part()}))
def test_a_reason_is_a_short_sentence_that_names_the_cpu(row):
    text = {**without(), **in_part()}[row]
    assert re.fullmatch(r"[a-z][^.:;]{20,80}", text)
    assert "CPU" in text
    assert reason(row) == text


def test_rows_without_a_reason_of_their_own_have_a_general_one():
    assert reason("exp") == "no kernel for GPUs takes these arguments"
