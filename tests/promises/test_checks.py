"""A check passes what keeps its promise and fails what breaks it."""

import copy

import pytest

from promises import broken, checks
from promises.subjects import Subject, many_rows, rows

BROKEN = [
    (checks.check_threads, broken.CountsThreads),
    (checks.check_batches, broken.CountsQueries),
    (checks.check_permuted_queries, broken.PrefersEarlyQueries),
    (checks.check_permuted_rows, broken.PrefersTheFirstRow),
    (checks.check_zero_weights, broken.CountsRowsOfNoWeight),
    (checks.check_groups, broken.IgnoresGroups),
    (checks.check_agreement, broken.PredictsByItself),
    (checks.check_agreement, broken.ScoresOfTheOpposite),
    (checks.check_agreement, broken.SharesOfMoreThanAll),
    (checks.check_explanations, broken.LeavesOutAVoter),
    (checks.check_input_unchanged, broken.ScalesInPlace),
    (checks.check_input_unchanged, broken.ScalesQueriesInPlace),
    (checks.check_input_unchanged, broken.ChangesLabels),
    (checks.check_input_not_kept, broken.KeepsTheRows),
    (checks.check_input_not_kept, broken.GivesQueriesBack),
]


@pytest.fixture
def disk(monkeypatch):
    """Model files hold classes of this library alone: these are kept in memory."""
    kept = {}
    monkeypatch.setattr(checks, "save", lambda model, path: kept.update({path: copy.deepcopy(model)}))
    monkeypatch.setattr(checks, "load", lambda path: kept[path])
    return kept


@pytest.mark.usefixtures("disk")
@pytest.mark.parametrize("check", checks.CHECKS)
def test_what_keeps_all_promises_passes(check):
    assert checks.CHECKS[check](broken.Honest())
    check(Subject(broken.Honest, rows, many_rows))


@pytest.mark.parametrize(("check", "kind"), BROKEN)
def test_what_breaks_a_promise_fails(check, kind):
    with pytest.raises(AssertionError):
        check(Subject(kind, rows, many_rows))


def test_a_file_that_loses_digits_fails(disk, monkeypatch):
    def change(path):
        disk[path].weights_ *= 1 + 1e-14
        return disk[path]

    monkeypatch.setattr(checks, "load", change)
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        checks.check_saved(Subject(broken.Honest, rows, many_rows))


def test_a_file_that_loses_settings_fails(disk, monkeypatch):
    monkeypatch.setattr(checks, "load", lambda path: disk[path].set_params(n_jobs=7))
    with pytest.raises(AssertionError, match="n_jobs=7"):
        checks.check_saved(Subject(broken.Honest, rows, many_rows))


def test_every_check_is_put_to_the_test():
    assert {check for check, _ in BROKEN} | {checks.check_saved} == set(checks.CHECKS)


def test_a_tolerance_is_kept():
    subject = Subject(broken.PrefersTheFirstRow, rows, many_rows)
    checks.check_permuted_rows(subject, within=1e-10)
    with pytest.raises(AssertionError):
        checks.check_permuted_rows(subject, within=1e-18)
