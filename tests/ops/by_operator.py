"""One test for each operator, which tries all of its cases: tens of thousands of cases would cost
the test runner more time than the operators."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from .case import Case


def by_operator(rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[str], None]]:
    """Makes of a test of one row a test of each operator; an error has a note that says which row.

    A row is a case, or a tuple of a case and what else the test takes.
    """
    rows_of: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        arguments = (row,) if isinstance(row, Case) else row
        rows_of.setdefault(arguments[0].op, []).append(arguments)

    def decorate(test: Callable[..., None]) -> Callable[[str], None]:
        def test_all(op: str) -> None:
            for case, *more in rows_of[op]:
                try:
                    test(case, *more)
                except BaseException as error:
                    words = [getattr(value, "__name__", str(value)) for value in more]
                    error.add_note("-".join([case.id, *words]))
                    raise

        # Not by functools.wraps: pytest would look at the arguments of `test`.
        test_all.__name__, test_all.__doc__ = test.__name__, test.__doc__
        return pytest.mark.parametrize("op", rows_of)(test_all)

    return decorate
