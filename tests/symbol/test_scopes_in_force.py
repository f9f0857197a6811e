"""The manager of names and the scope of attributes in force, read and set as in MXNet."""

import threading

import pytest

import ferromix as mx
from ferromix.error import MXNetError
from ferromix.name import NameManager, Prefix


def automatic():
    return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1).name


def test_what_is_in_force_is_the_value():
    assert mx.AttrScope._current.value._attr == {}
    with Prefix("a_") as names, mx.AttrScope(mood="calm") as scope:
        assert NameManager._current.value is names
        assert mx.AttrScope._current.value is scope
        assert scope._attr == {"mood": "calm"}


def test_a_manager_may_be_assigned():
    before = NameManager._current.value
    NameManager._current.value = Prefix("stage_")
    try:
        assert automatic() == "stage_fullyconnected0"
        with NameManager():
            assert automatic() == "fullyconnected0"
        assert automatic() == "stage_fullyconnected1"
    finally:
        NameManager._current.value = before
    assert NameManager._current.value is before


def warned(read):
    """What it gives and the text of its one warning, which is said of this file."""
    with pytest.warns(DeprecationWarning, match="current") as found:
        given = read()
    assert [w.filename for w in found] == [__file__]
    return given, str(found[0].message)


def test_the_old_names_warn_as_those_of_mxnet():
    # MXNet 1.9.1 has these texts.
    names, scope = NameManager._current.value, mx.AttrScope._current.value
    text = "{0}.current has been deprecated. It is advised to use the `with` statement with {0}."
    assert warned(lambda: NameManager.current) == (names, text.format("NameManager"))
    assert warned(lambda: Prefix("a_").current) == (names, text.format("NameManager"))
    assert warned(lambda: mx.AttrScope.current) == (scope, text.format("AttrScope"))


def test_the_old_names_may_be_assigned():
    names, scope = NameManager._current.value, mx.AttrScope._current.value
    try:
        NameManager.current = Prefix("old_")  # Of this MXNet 1.9.1 does not warn.
        with pytest.warns(DeprecationWarning, match="AttrScope"):
            mx.AttrScope.current = mx.AttrScope(lr_mult="4")
        assert automatic() == "old_fullyconnected0"
        assert mx.sym.Variable("a").attr("lr_mult") == "4"
        with Prefix("in_"):
            assert automatic() == "in_fullyconnected0"
    finally:
        NameManager._current.value, mx.AttrScope._current.value = names, scope


def test_a_scope_may_be_assigned():
    before = mx.AttrScope._current.value
    mx.AttrScope._current.value = mx.AttrScope(lr_mult="3")
    try:
        assert mx.sym.Variable("a").attr("lr_mult") == "3"
    finally:
        mx.AttrScope._current.value = before
    assert mx.sym.Variable("b").attr("lr_mult") is None


def test_threads_have_their_own():
    found = []

    def look():
        found.extend([NameManager._current.value, mx.AttrScope._current.value])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found[0] is not NameManager._current.value
    assert found[1] is not mx.AttrScope._current.value


def test_a_call_that_fails_takes_a_number_as_in_mxnet():
    data, two = mx.sym.Variable("data"), mx.sym.Group([mx.sym.Variable("a"), mx.sym.Variable("b")])
    mistakes = [
        lambda: mx.sym.FullyConnected(data),
        lambda: mx.sym.FullyConnected(data, num_hidden=2, such=3),
        lambda: mx.sym.FullyConnected(data, num_hidden="a"),
        lambda: mx.sym.FullyConnected(two, num_hidden=2),
        lambda: mx.sym.FullyConnected(data, num_hidden=2, attr={"mood": "calm"}),
        lambda: mx.sym.FullyConnected(data, num_hidden=2, such=data),
    ]
    for mistake in mistakes:
        with NameManager():
            with pytest.raises(MXNetError):
                mistake()
            assert automatic() == "fullyconnected1"
    with NameManager():
        with pytest.raises(MXNetError):
            data + two
        assert (data + data).name == "_plus1"
