"""The certifying mode: fractions all the way, equal to the plain reading and to floats."""

from fractions import Fraction

import numpy as np
import pytest

from boosting.problems import brute_force, random_rows
from nearboost import N3Classifier
from reference import rational as reference

SETTINGS = {
    "loss": "hinge", "vote_weights": "uniform", "start": "zero", "n_rounds": 8, "calibration": None
}  # fmt: skip


@pytest.mark.pairs
@pytest.mark.parametrize("oracle", ["delta", "decrease"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("seed", "kind"), [(0, "random"), (1, "ties"), (2, "ties"), (3, "random")])
def test_exactly_the_plain_reading_and_floats_to_rounding(oracle, n_classes, seed, kind):
    X, classes = random_rows(seed, m=24, n_classes=n_classes, kind=kind)
    exact = N3Classifier(4, arithmetic="rational", oracle=oracle, **SETTINGS).fit(X, classes)
    floats = N3Classifier(4, oracle=oracle, **SETTINGS).fit(X, classes)
    codes = np.where(classes[:, None] == np.arange(n_classes), 1, -1)
    starts = reference.start_weights(codes.tolist())
    columns = range(n_classes) if n_classes > 2 else [1]
    assert len(exact.exact_coefficients_) == len(columns)
    for table, c in zip(exact.exact_coefficients_, columns, strict=True):
        _, _, alpha, _ = reference.n3_hinge(
            brute_force(X, 4).indices.tolist(), codes[:, c], [w[c] for w in starts], n_rounds=8, oracle=oracle
        )
        assert table == {j: a for j, a in enumerate(alpha) if a != 0}
        assert all(isinstance(a, Fraction) for a in table.values())
        assert table
    np.testing.assert_array_equal(exact.prototypes_, floats.prototypes_)
    np.testing.assert_allclose(exact.coefficients_.toarray(), floats.coefficients_.toarray(), rtol=1e-9)
    for a, b in zip(exact.history_, floats.history_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_votes_weights_and_held_out_rows_agree_with_floats():
    X, classes = random_rows(4, m=25, n_classes=3)
    weights = np.ones(25)  # weights that are no short fractions would make near-ties of the float window's ties
    weights[20] = 0
    models = [
        N3Classifier(
            4,
            loss="hinge",
            arithmetic=a,
            n_rounds=5,
            vote_weights="uniform",
            start="zero",
            learning_rate=0.5,
        ).fit(X, classes, sample_weight=weights)
        for a in ("rational", "float")
    ]
    np.testing.assert_array_equal(models[0].prototypes_, models[1].prototypes_)
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), rtol=1e-7)
    rows = {row for table in models[0].exact_coefficients_ for row in table}
    assert rows == set(models[0].prototypes_.tolist())
    assert 20 not in rows
    assert all(float(a) == pytest.approx(alpha) for (a, alpha) in [
        (table[row], models[0].coefficients_.toarray()[list(models[0].prototypes_).index(row), c])
        for c, table in enumerate(models[0].exact_coefficients_) for row in table
    ])  # fmt: skip


def test_what_rational_arithmetic_is_not_for():
    X, classes = random_rows(0, m=20, n_classes=2)
    for loss in ("log", "binlog", "mat", "squared"):
        with pytest.raises(ValueError, match="hinge"):
            N3Classifier(3, arithmetic="rational", loss=loss).fit(X, classes)
    with pytest.raises(ValueError, match="random"):
        N3Classifier(3, arithmetic="rational", loss="hinge", oracle="random").fit(X, classes)
    with pytest.raises(ValueError, match="arithmetic='exact'"):
        N3Classifier(3, arithmetic="exact").fit(X, classes)
    for inexact in ({"vote_weights": "rank"}, {"start": "vote"}):
        with pytest.raises(ValueError, match='needs vote_weights="uniform" and start="zero"'):
            N3Classifier(3, arithmetic="rational", **{**SETTINGS, **inexact}).fit(X, classes)
    X, classes = random_rows(0, m=1001, n_classes=2)
    with pytest.raises(ValueError, match="1001 samples"):
        N3Classifier(3, arithmetic="rational", **SETTINGS).fit(X, classes)


def test_floats_have_no_exact_coefficients():
    X, classes = random_rows(0, m=20, n_classes=2)
    model = N3Classifier(3, arithmetic="rational", **SETTINGS).fit(X, classes)
    assert not hasattr(model.set_params(arithmetic="float").fit(X, classes), "exact_coefficients_")
