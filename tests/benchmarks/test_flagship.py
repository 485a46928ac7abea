"""NearBoost beside its contenders: what is judged, and what is kept, can be true."""

import numpy as np
import pytest
from benchmarks.data import Split
from benchmarks.flagship import judged
from benchmarks.flagship_sets import FAMILIAR, FRESH, LESS_FAMILIAR, SETS
from benchmarks.machine import read_results
from sklearn.metrics import log_loss


def test_answers_are_judged_as_others_judge_them():
    rng = np.random.default_rng(0)
    probabilities, y = rng.dirichlet(np.ones(3), 50), np.arange(50) % 3
    split = Split("made up", np.zeros((3, 1)), np.arange(3), np.zeros((50, 1)), y)
    found = judged(probabilities, split)
    assert found["log_loss"] == pytest.approx(log_loss(y, probabilities))
    assert found["accuracy"] == np.mean(probabilities.argmax(axis=1) == y)


@pytest.mark.parametrize("name", ["flagship", "flagship_fresh"])
def test_kept_figures_are_possible(name):
    rows = read_results(name)["rows"]
    assert all(row["log_loss"] >= 0 and 0 <= row["accuracy"] <= 1 and 0 <= row["ece"] <= 1 for row in rows)
    assert {row["data"] for row in rows} == {*FRESH} if name.endswith("fresh") else {*FAMILIAR, *LESS_FAMILIAR}


def test_every_set_stands_in_one_list():
    assert sorted(SETS) == sorted([*FAMILIAR, *LESS_FAMILIAR, *FRESH])
