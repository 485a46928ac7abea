"""The search for step, damping and rank, on trials with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from nearboost.linear.choice import FIRST_FACTOR, Setting, Trial, choose

START = Setting(256, 0.01, FIRST_FACTOR)
FALLING = np.geomspace(1, 1e-20, 512)  # the first 64 keep nearly all
LEVEL = np.ones(512)


def measured(best, accuracy=lambda setting: 0.5):
    """Trials whose risk is the distance from ``best`` in strides."""

    def attempt(setting):
        away = abs(np.log(setting.factor / best.factor)) + abs(np.log(max(setting.damping, 1e-9) / best.damping))
        return Trial(setting, setting.factor, accuracy(setting), float(away))

    return lambda settings, advance: [attempt(setting) for setting in settings]


@pytest.mark.parametrize("by", [1 / 64, 1 / 4, 1, 4, 64])
def test_step_and_damping_are_found_one_after_the_other(by):
    best = replace(START, damping=0.01 * by, factor=FIRST_FACTOR * 4)
    found, trials = choose(START, FALLING, {"step", "damping"}, measured(best), 100)
    assert found == best
    assert {trial.setting.factor for trial in trials if trial.setting.damping not in (0.0, 0.01)} <= {best.factor}


def test_the_least_risk_wins_over_accuracy():
    best = replace(START, factor=FIRST_FACTOR / 4)
    found, _ = choose(
        START, FALLING, {"step"}, measured(best, lambda setting: min(1.0, setting.factor / 100)), 100
    )
    assert found == best


def test_the_smallest_rank_that_is_as_accurate():
    for accuracy, rank in (({64: 0.80, 256: 0.81, 512: 0.81}, 64), ({64: 0.7, 256: 0.81, 512: 0.9}, 512)):
        trials = measured(START, lambda setting, known=accuracy: known[setting.rank])
        assert choose(START, FALLING, {"rank"}, trials, 100)[0].rank == rank


def test_a_small_rank_must_not_leave_much_out():
    for accuracy, rank in (({64: 0.80, 256: 0.81, 512: 0.81}, 512), ({64: 0.8, 256: 0.9, 512: 0.7}, 256)):
        trials = measured(START, lambda setting, known=accuracy: known[setting.rank])
        assert choose(START, LEVEL, {"rank"}, trials, 100)[0].rank == rank


def test_rows_are_kept_in_memory_rather_than_of_large_rank():
    trials = measured(START, lambda setting: 0.7 if setting.rank < 256 else 0.81)
    assert choose(START, LEVEL, {"rank"}, trials, 100, room=300)[0].rank == 256
    assert choose(START, LEVEL, {"rank"}, trials, 100, room=30)[0].rank == 512  # none fits
