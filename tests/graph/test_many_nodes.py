"""Python's garbage collector while a graph is made: it rests, and afterwards it works as before."""

from __future__ import annotations

import gc

import pytest

from ferromix.graph.node import many_nodes


class Ring:
    """Garbage that only the collector finds."""

    alive = 0

    def __init__(self):
        type(self).alive += 1
        self.own = self

    def __del__(self):
        type(self).alive -= 1


@pytest.fixture(autouse=True)
def clean():
    Ring.alive = 0
    # Tests run with much frozen.
    gc.unfreeze()
    gc.collect()
    yield
    gc.collect()
    gc.freeze()


def collections():
    return sum(generation["collections"] for generation in gc.get_stats())


def make_much():
    return [[i] for i in range(2000)]


def test_nothing_is_collected_meanwhile_nor_at_the_end():
    before = collections()
    with many_nodes():
        much = make_much()
        assert not gc.isenabled()
    assert gc.isenabled()
    assert collections() == before
    assert gc.get_count()[0] < gc.get_threshold()[0]
    assert len(much) == 2000


def test_old_garbage_is_still_found():
    with many_nodes():
        much = make_much()
        Ring()
    assert Ring.alive == 1
    gc.collect()
    assert Ring.alive == 0
    assert len(much) == 2000


def test_a_loop_that_only_makes_graphs_collects_old_garbage():
    before = [generation["collections"] for generation in gc.get_stats()]
    kept = []
    for _ in range(300):
        # It survives a collection of new objects, as it is replaced after the next one.
        last = Ring()
        with many_nodes():
            kept.append(make_much())
        assert last.own is last
    after = [generation["collections"] for generation in gc.get_stats()]
    assert after[1] + after[2] - before[1] - before[2] > 20
    assert Ring.alive < 150


def test_frozen_objects_stay_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with many_nodes():
        much = make_much()
    assert gc.get_freeze_count() == pytest.approx(frozen, abs=100)
    assert len(much) == 2000


def test_a_collector_that_rests_stays_at_rest():
    gc.disable()
    try:
        with many_nodes():
            make_much()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_works_again_after_an_error():
    with pytest.raises(ZeroDivisionError), many_nodes():
        raise ZeroDivisionError
    assert gc.isenabled()
