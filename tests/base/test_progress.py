"""Progress: silent unless asked for, and then on standard error."""

import numpy as np

from nearboost import N3Classifier
from nearboost.base.progress import progress_bar


def test_silent_by_default(capfd):
    with progress_bar("Counting", 3, 0) as advance:
        for _ in range(3):
            advance()
    rng = np.random.default_rng(0)
    N3Classifier(3).fit(rng.normal(size=(30, 2)), rng.integers(0, 3, 30))
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Boosting" not in shown.err


def test_verbose_shows_a_bar_on_standard_error(capfd):
    with progress_bar("Counting", 3, 1) as advance:
        for _ in range(3):
            advance()
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Counting" in shown.err
    rng = np.random.default_rng(0)
    N3Classifier(3, verbose=1, n_jobs=2).fit(rng.normal(size=(30, 2)), rng.integers(0, 3, 30))
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Boosting" in shown.err
