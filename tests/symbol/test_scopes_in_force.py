"""The manager of names and the scope of attributes in force, read and set as in MXNet."""

import threading

import ferromix as mx
from ferromix.name import NameManager, Prefix


def automatic():
    return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1).name


def test_what_is_in_force_is_the_value():
    assert NameManager._current.value is NameManager.current
    assert mx.AttrScope._current.value is mx.AttrScope.current
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
    assert NameManager.current is before


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
