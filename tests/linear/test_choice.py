"""The search for step, damping and rank, on trials with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from nearboost.linear.choice import FIRST_FACTOR, Setting, Trial, choose

START = Setting(256, 0.01, FIRST_FACTOR)
FALLING = {"none": np.geomspace(1, 1e-20, 512)}  # the first 64 keep nearly all
LEVEL = {"none": np.ones(512)}


def measured(best, accuracy=lambda setting: 0.5):
    """Trials whose risk is the distance from ``best`` in strides."""

    def attempt(setting):
        away = abs(np.log(setting.factor / best.factor)) + abs(np.log(max(setting.damping, 1e-9) / best.damping))
        return Trial(setting, setting.factor, accuracy(setting), float(away))

    return lambda settings, advance: [attempt(setting) for setting in settings]


@pytest.mark.parametrize("by", [1 / 64, 1 / 4, 1, 4, 64])
def test_step_and_damping_are_found(by):
    best = replace(START, damping=0.01 * by, factor=FIRST_FACTOR * 4)
    found, trials = choose(START, FALLING, {"step", "damping"}, measured(best), 100)
    assert found == best
    assert len(trials) < 20


def test_scalings_are_tried():
    """Each with its own number of coordinates."""
    best = replace(START, scaling="standard", rank=100, factor=FIRST_FACTOR * 4)

    def attempt(settings, advance):
        trials = measured(best)(settings, advance)
        return [replace(trial, risk=trial.risk + (trial.setting.scaling == "none")) for trial in trials]

    moments = {"none": np.ones(50), "standard": np.ones(100)}
    found, trials = choose(START, moments, {"scaling", "step", "damping"}, attempt, 100)
    assert found == best
    assert {(trial.setting.scaling, trial.setting.rank) for trial in trials} == {("none", 50), ("standard", 100)}
    given, trials = choose(START, moments, {"step", "damping"}, attempt, 100)
    assert given.scaling == "none"
    assert {trial.setting.scaling for trial in trials} == {"none"}


def test_chance_does_not_change_the_setting():
    """A risk that is less in the mean, but not by more than single rows differ."""
    rng = np.random.default_rng(0)
    one = Trial(START, 1.0, 0.9, 1.00, rng.exponential(1.0, 50))
    other = Trial(replace(START, factor=1.0), 1.0, 0.9, 0.95, rng.exponential(0.95, 50))
    assert not other.surer_than(one)
    assert replace(other, losses=one.losses - 0.05).surer_than(one)
    assert other.surer_than(replace(one, risk=np.inf))
    assert not replace(one, risk=np.inf).surer_than(other)


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
