"""What the benchmark of probabilities measures."""

import numpy as np
import pytest

from benchmarks import probabilities as bench


def drawn(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5] * 4, size=n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)


def test_labels_drawn_from_the_posterior_leave_only_chance():
    p, truth = drawn()
    chance = bench.error_of_drawn_labels(p)
    assert bench.expected_calibration_error(p, truth) == pytest.approx(chance, abs=0.01)
    unsure = 0.5 * p + 0.5 / 4
    assert bench.expected_calibration_error(unsure, truth) > bench.error_of_drawn_labels(unsure) + 0.1


def test_the_best_power_of_a_posterior():
    p, truth = drawn()
    logs = np.log(np.maximum(p, 1e-300))
    own = bench.log_loss(logs, truth)
    assert bench.best_power(logs, truth) == pytest.approx(own, rel=0.01)
    flat = 0.2 * logs - np.log(np.exp(0.2 * logs).sum(axis=1, keepdims=True))
    assert bench.best_power(flat, truth) == pytest.approx(bench.best_power(logs, truth), rel=1e-6)
    assert bench.log_loss(flat, truth) > 1.1 * own


def test_a_method_is_measured_and_summed_up():
    split = bench.some_rows(bench.whole_split("wine", 0), 50, 0)
    assert len(split.y_train) == 50
    rows = [
        {"data": "wine", "size": 50, "seed": 0, "method": name, **bench.measure(name, split, 0)}
        for name in (bench.LOGISTIC, "crc")
    ]
    logistic, crc = bench.summary(rows)
    assert logistic["below_logistic"] == 1
    assert crc["sets"] == 1
    assert 0 < crc["least"] < 1
    assert "crc" in bench.report({"rows": rows, "summary": [logistic, crc]})
