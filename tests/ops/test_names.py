"""Every name that MXNet 1.9.1 has for an operator is there, or there is a reason why not."""

from pathlib import Path

import pytest

import ferromix as mx
from ferromix.ops.card import exists, find
from ferromix.ops.namespaces import PREFIXES
from ferromix.ops.sparse_names import SPARSE

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    line.split() for line in (ROOT / "tests/golden/operator_names.txt").read_text().splitlines()
]
NAMES = [name for row in ROWS for name in row]
LINES = (ROOT / "docs/operators-not-there.txt").read_text().splitlines()
REASONS = {line.split()[0]: line.split()[1:] for line in LINES if line[:1] not in "#"}
NOT_YET = 0
"""How many names may be neither there nor reasoned; it only ever sinks."""


def test_every_name_is_there_or_has_a_reason():
    absent = [n for n in NAMES if not exists(n) and n not in REASONS]
    lost = [n for n in absent if not hasattr(mx.nd._internal, n)]  # some are written by hand
    assert len(lost) <= NOT_YET, f"neither there nor in docs/operators-not-there.txt: {lost}"


def test_reasons_are_given_for_few_names_that_are_missing_indeed():
    assert len(REASONS) <= len(NAMES) * 0.02
    for name, reason in REASONS.items():
        assert name in NAMES, f"{name} is no name of MXNet's"
        assert not exists(name), f"{name} is there"
        assert len(reason) >= 4, f"{name}: why?"


def test_aliases_are_one_operator_each():
    for row in ROWS:
        cards = {find(name) for name in row if exists(name)}
        assert len(cards) <= 1, f"{row} are {cards}"
        assert not cards or all(exists(name) or name in REASONS for name in row), row


@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_names_are_where_users_of_mxnet_find_them(front):
    # Operators with graphs of their own are made by functions of contrib.
    loops = {"_foreach", "_while_loop", "_cond"}
    for name in filter(exists, set(NAMES) - loops):
        for namespace, prefix in PREFIXES.items():
            if name.startswith(prefix) and (namespace != "random" or name.endswith("_like")):
                assert callable(getattr(getattr(front, namespace), name.removeprefix(prefix)))
                break
        else:
            assert callable(getattr(front._internal if name.startswith("_") else front.op, name))
        assert callable(getattr(front, name))


def test_functions_of_images_have_the_names_of_operators():
    for name in ("imread", "imdecode", "imresize", "copyMakeBorder"):
        assert getattr(mx.nd._internal, f"_cv{name}").__name__ == name
    picture = mx.nd.arange(12).reshape((2, 2, 3)).astype("uint8")
    for name, args in (("imresize", (3, 4)), ("copyMakeBorder", (1, 0, 2, 1))):
        found = getattr(mx.nd._internal, f"_cv{name}")(picture, *args)
        wanted = getattr(mx.image, name)(picture, *args)
        assert found.asnumpy().tolist() == wanted.asnumpy().tolist()


def test_second_names_for_sparse_arrays_are_those_of_mxnet():
    wanted = {name for name in NAMES if name.startswith("_sparse_")}
    own = {"_sparse_retain", "_sparse_adagrad_update"}
    assert {f"_sparse_{name}" for name in SPARSE.split()} | own == wanted
    with pytest.raises(AttributeError, match="'tile'"):
        mx.nd.sparse.tile  # noqa: B018
    csr = mx.nd.sparse.csr_matrix(([4.0], [1], [0, 1, 1]), shape=(2, 3))
    assert mx.nd.sparse.sqrt(csr).stype == mx.nd._internal._sparse_sqrt(csr).stype == "csr"
    assert mx.sym.sparse.sqrt(mx.sym.Variable("x")).tojson().count('"op": "sqrt"') == 1
