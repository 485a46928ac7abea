"""Vote and residual of NearBoostClassifier equal their plain reading."""

import numpy as np
import pytest

from nearboost.ensemble import code_heads
from nearboost.ensemble.code_heads import (
    FARTHEST,
    N_TERMS,
    ON_SPHERE,
    QUERIES_AT_ONCE,
    REGULARIZATION,
    SCORES_AT_ONCE,
    CodedRows,
    pieces_of,
    to_sphere,
)
from reference import stack as reference

GROUP_OF_A_CLASS = 5


def problem(n_rows=90, n_features=6, seed=0):
    """Rows, of which class 2 is one group, and queries, of which two are of that group and one of none."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n_rows) % 4)
    X = (rng.normal(size=(n_rows, n_features)) + np.eye(4, n_features)[classes]).astype(np.float32)
    groups = np.where(classes == 2, GROUP_OF_A_CLASS, rng.integers(0, 5, n_rows)).astype(np.int32)
    own = np.array([0, 1, 2, 3, 4, -1, GROUP_OF_A_CLASS, GROUP_OF_A_CLASS], dtype=np.int32)
    Q = (1.3 * rng.normal(size=(len(own), n_features))).astype(np.float32)
    return X, classes, rng.uniform(0.5, 2, n_rows), groups, Q, own


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", ["all", "vote nearby", "classes nearby", "on a sphere"])
def test_heads(mode, seed, monkeypatch):
    X, classes, weight, groups, Q, own = problem(seed=seed)
    on_sphere = mode == "on a sphere"
    if on_sphere:
        X, Q = to_sphere(X), to_sphere(Q)
    vote_near = class_near = None
    if mode.endswith("nearby"):
        monkeypatch.setattr(code_heads, "MOST_FOR_ALL", 50)
        monkeypatch.setattr(code_heads, "N_NEAR", 11)
        vote_near = 11
    if mode == "classes nearby":
        monkeypatch.setattr(code_heads, "MOST_GAPS", 1)
        class_near = 11
    coded = CodedRows(X, classes, 4, weight, on_sphere)
    codes = coded.code(coded.halves(Q), groups, own)
    vote, residual = coded.scores(codes)
    for i, q in enumerate(Q):
        allowed = np.flatnonzero(groups != own[i])
        args = q, allowed, ON_SPHERE if on_sphere else REGULARIZATION, N_TERMS
        np.testing.assert_allclose(vote[i], reference.vote(X, classes, weight, *args, vote_near), atol=1e-6)
        np.testing.assert_allclose(residual[i], reference.residual(X, classes, *args, class_near), atol=1e-5)
        picked = coded.order[np.append(codes.voters[i], codes.members[i][codes.members[i] >= 0])]
        assert not np.any(groups[picked] == own[i])
    nobody = own == GROUP_OF_A_CLASS
    np.testing.assert_array_equal(np.isnan(codes.squares[:, 2]), nobody)
    assert (codes.members[nobody, 2] == -1).all()


@pytest.mark.parametrize("narrow", [0, 6])
def test_halves_by_products_and_by_differences(narrow, monkeypatch):
    monkeypatch.setattr(code_heads, "NARROW", narrow)
    X, classes, weight, _, Q, _ = problem()
    Q[1], Q[2] = 1e6, 1e15  # the latter is beyond the farthest
    coded = CodedRows(X, classes, 4, weight)
    squares = np.square(Q[:, np.newaxis].astype(np.float64) - coded.rows).sum(axis=2)
    np.testing.assert_allclose(coded.halves(Q), np.minimum(squares / 2, FARTHEST), rtol=1e-5, atol=1e-5)


def test_a_query_that_is_a_row():
    """Equal rows are no trouble, and all residuals of 0 leave nothing to tell."""
    X = np.zeros((6, 3), dtype=np.float32)
    coded = CodedRows(X, np.arange(6) % 2, 2, np.ones(6))
    groups = np.arange(6, dtype=np.int32)
    _, residual = coded.scores(coded.code(coded.halves(X), groups, groups))
    np.testing.assert_array_equal(residual, 0.0)


def test_blocks_of_queries_are_smaller_where_classes_are_many():
    """A crafted file could name a million classes: the picks inside them must fit into memory."""
    X, classes = np.eye(3, dtype=np.float32), np.arange(3)
    few, many = (pieces_of(600, CodedRows(X, classes, n, np.ones(3))) for n in (3, 100_000))
    assert len(few) == -(-600 // QUERIES_AT_ONCE)
    assert max(one.stop - one.start for one in many) * N_TERMS * 100_000 <= SCORES_AT_ONCE
    assert many[-1].stop == 600


@pytest.mark.parametrize("size", [1.0, 1e12, 1e15])
def test_a_class_whose_rows_are_all_left_out_is_never_read_beyond(size):
    from nearboost.kernels import class_codes as kernels

    rows = (np.random.default_rng(0).normal(size=(48, 3)) * size).astype(np.float32)
    coded = CodedRows(rows, np.repeat([0, 1, 2], [20, 26, 2]), 3, np.ones(48))
    gaps, n_last = coded._by_class.gaps, 2
    scores = np.full((1, kernels.LANES), kernels.FAR, dtype=np.float32)
    picks = np.zeros((1, 1, len(coded.terms)), dtype=np.int32)
    kernels.pick_rows(scores, 1, gaps.values, gaps.places[2], gaps.strides[2], coded.terms, picks, 0, 0)
    assert picks.max() < n_last
