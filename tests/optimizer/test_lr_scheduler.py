"""Schedules give the rates that MXNet 1.9.1 gave for the same numbers of updates."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError
from ferromix.lr_scheduler import (
    CosineScheduler,
    FactorScheduler,
    MultiFactorScheduler,
    PolyScheduler,
)

WARM = {"base_lr": 1.0, "warmup_steps": 4, "warmup_begin_lr": 0.2}

# Rates for 0, 1, 2... updates, computed by MXNet 1.9.1.
GOLDEN = [
    (FactorScheduler(3, 0.5, base_lr=1.0), [1] * 4 + [0.5] * 3 + [0.25] * 3 + [0.125] * 3),
    (FactorScheduler(3, 0.5, stop_factor_lr=0.3, base_lr=1.0), [1] * 4 + [0.5] * 3 + [0.3] * 6),
    (MultiFactorScheduler([2, 5, 6], 0.1, base_lr=1.0), [1] * 3 + [0.1] * 3 + [0.01] + [1e-3] * 3),
    (FactorScheduler(3, 0.5, **WARM), [0.2, 0.4, 0.6, 0.8, 0.5, 0.5, 0.5, 0.25]),
    (FactorScheduler(3, 0.5, warmup_mode="constant", **WARM), [0.2] * 4 + [0.5] * 3 + [0.25]),
]


@pytest.mark.parametrize(("schedule", "rates"), GOLDEN)
def test_rates_are_those_of_mxnet(schedule, rates):
    np.testing.assert_allclose([schedule(n) for n in range(len(rates))], rates, rtol=1e-12)


def test_a_schedule_depends_on_the_number_of_updates_alone():
    schedule = FactorScheduler(10, 0.1, base_lr=1.0)
    assert schedule(1000) == 1e-8
    assert schedule(1) == 1.0


def test_an_optimizer_starts_the_schedule_from_its_own_rate():
    schedule = FactorScheduler(2, 0.5)
    sgd = mx.optimizer.SGD(learning_rate=0.4, lr_scheduler=schedule)
    weight = mx.nd.zeros((1,))
    steps = []
    for _ in range(5):
        before = weight.asnumpy()[0]
        sgd.update(0, weight, mx.nd.ones((1,)), None)
        steps.append(before - weight.asnumpy()[0])
    np.testing.assert_allclose(steps, [0.4, 0.4, 0.2, 0.2, 0.1], rtol=1e-6)
    assert sgd.learning_rate == pytest.approx(0.1)
    assert sgd.lr == 0.4
    assert mx.optimizer.SGD(lr_scheduler=schedule).lr is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FactorScheduler(0), "step must be >= 1, got 0"),
        (lambda: FactorScheduler(1, 1.5), "factor must be <= 1.*got 1.5"),
        (lambda: FactorScheduler(1, warmup_mode="slow"), "'linear' or 'constant', got 'slow'"),
        (lambda: FactorScheduler(1, warmup_steps=-2), "warmup_steps must be >= 0, got -2"),
        (lambda: FactorScheduler(1, warmup_begin_lr=3), "warmup_begin_lr 3 is above base_lr 0.01"),
        (lambda: MultiFactorScheduler([3, 2]), r"must increase.*got \[3, 2\]"),
        (lambda: MultiFactorScheduler([0, 2]), r"start at 1 or more, got \[0, 2\]"),
        (lambda: MultiFactorScheduler([]), r"must be a list.*got \[\]"),
        (lambda: MultiFactorScheduler(3), "must be a list.*got 3"),
        (lambda: MultiFactorScheduler([1], 2), "factor must be <= 1"),
    ],
)
def test_unfit_arguments(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


def test_a_fractional_step_counts_as_in_mxnet():
    # From MXNet 1.9.1.
    halve = FactorScheduler(1.5, 0.5, base_lr=1)
    assert [halve(n) for n in range(9)] == [1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 8, 1 / 8, 1 / 16, 1 / 32]


def of_an_optimizer(schedule):
    return mx.optimizer.SGD(learning_rate=0.3, lr_scheduler=schedule).lr_scheduler


FADING = [0.1, 0.081, 0.064, 0.049, 0.036, 0.025, 0.016, 0.009, 0.004, 0.001, 0, 0]
RISING = [0, 1 / 30, 1 / 15]


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (PolyScheduler(10, base_lr=0.1), FADING),
        (PolyScheduler(4, base_lr=0.1, pwr=1, warmup_steps=3), [*RISING, 0.1, 0]),
        (CosineScheduler(2, base_lr=0.1), [0.1, 0.05, 0]),
        (FactorScheduler(2, 0.5, base_lr=0.1, warmup_steps=3), [*RISING, 0.15, 0.15, 0.075]),
        (MultiFactorScheduler([3], 0.5, base_lr=0.1, warmup_steps=3), [*RISING, 0.3, 0.15]),
    ],
)
def test_what_the_rate_of_an_optimizer_replaces(schedule, rates):
    # From MXNet 1.9.1: what steps reduce, but neither a warm-up's end nor where curves begin.
    schedule = of_an_optimizer(schedule)
    assert schedule.base_lr == 0.3
    assert schedule.warmup_final_lr == 0.1
    np.testing.assert_allclose([schedule(n) for n in range(len(rates))], rates, atol=1e-12)


def test_curves_say_where_they_begin_and_how_long_they_are():
    for kind in (PolyScheduler, CosineScheduler):
        curve = kind(10, base_lr=0.5, final_lr=0.1, warmup_steps=2)
        found = curve.base_lr_orig, curve.max_update, curve.max_steps, curve.warmup_final_lr
        assert found == (0.5, 10, 8, 0.5)


def test_steps_are_counted():
    # From MXNet 1.9.1: the updates asked for, and what was counted after each.
    several = MultiFactorScheduler([2, 5, 9], 0.5, base_lr=1.0)
    assert (several.cur_step_ind, several.count) == (0, 0)
    found = [(several(n), several.cur_step_ind, several.count) for n in (1, 2, 3, 5, 6, 10, 20)]
    assert [row[1:] for row in found] == [(0, 0), (0, 0), (1, 2), (1, 2), (2, 5), (3, 9), (3, 9)]
    same = FactorScheduler(3, 0.5, base_lr=1.0)
    assert [(same(n), same.count)[1] for n in (1, 3, 4, 7, 8, 20)] == [0, 0, 3, 6, 6, 18]
