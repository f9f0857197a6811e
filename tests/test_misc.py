"""The first schedules of learning rates; their values are MXNet's."""

import logging

import pytest

from ferromix import misc


def test_rates_fall_by_a_factor(caplog):
    schedule = misc.FactorScheduler(2, 0.5)
    schedule.base_lr = 1.0
    with caplog.at_level(logging.INFO):
        assert [schedule(n) for n in range(7)] == [1, 1, 0.5, 0.5, 0.25, 0.25, 0.125]
    assert [line.getMessage() for line in caplog.records] == [
        "At Iteration [2]: Change learning rate to 0.50000",
        "At Iteration [4]: Change learning rate to 0.25000",
        "At Iteration [6]: Change learning rate to 0.12500",
    ]
    assert (schedule.old_lr, schedule.init) == (0.125, True)


def test_a_tenth_by_default():
    schedule = misc.FactorScheduler(3)
    assert vars(schedule) == {
        "base_lr": 0.01,
        "step": 3,
        "factor": 0.1,
        "old_lr": 0.01,
        "init": False,
    }


@pytest.mark.parametrize(("step", "factor"), [(0, 0.5), (2, 1), (2, 2)])
def test_rates_must_fall(step, factor):
    with pytest.raises(ValueError, match="FactorScheduler"):
        misc.FactorScheduler(step, factor)


def test_the_base_has_no_rates():
    schedule = misc.LearningRateScheduler()
    assert schedule.base_lr == 0.01
    with pytest.raises(NotImplementedError, match="must override"):
        schedule(1)
