"""Every estimator keeps every promise that applies to it, save those listed with their reasons."""

import pytest
from sklearn.base import BaseEstimator

import nearboost
import nearboost.features
from promises.checks import CHECKS, check_batches, check_permuted_queries, check_threads
from promises.expected import EXPECTED, ROUNDED
from promises.subjects import SUBJECTS, Subject, wide_rows

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of methods that would like more data
EXCEPTIONS = [(check, name, failure) for check, failures in EXPECTED.items() for name, failure in failures.items()]


def marks(check, name):
    """Threads need the cores for themselves; what is listed has to fail."""
    failure = EXPECTED.get(check, {}).get(name)
    alone = [pytest.mark.alone] if check is check_threads else []
    return (
        [*alone, pytest.mark.xfail(reason=failure.reason, raises=AssertionError, strict=True)]
        if failure
        else alone
    )


def case(check, name, *more):
    return pytest.param(check, name, *more, marks=marks(check, name), id=f"{name}-{check.__name__}")


PROMISES = [
    case(check, name) for name in SUBJECTS for check, applies in CHECKS.items() if applies(SUBJECTS[name].make())
]


@pytest.mark.parametrize(("check", "name"), PROMISES)
def test_promises(check, name):
    check(SUBJECTS[name], ROUNDED.get(check, {}).get(name, 0.0))


@pytest.mark.parametrize(
    ("check", "name", "failure"),
    [pytest.param(*given, id=f"{given[1]}-{given[0].__name__}") for given in EXCEPTIONS],
)
def test_without_the_reason_the_promise_holds(check, name, failure):
    check(failure.without_it(SUBJECTS[name]), failure.within)


@pytest.mark.alone
@pytest.mark.parametrize("check", [check_threads, check_batches, check_permuted_queries])
@pytest.mark.parametrize("name", ["CRCClassifier", "LPP", "SLNDClassifier", "SoftDiscriminant"])
def test_large_products_are_the_same_up_to_rounding(check, name):
    """Where the matrix library takes several threads, the place of a row may matter as well."""
    check(Subject(SUBJECTS[name].make, wide_rows, wide_rows), 1e-12)


def test_no_estimator_is_left_out():
    public = [(module, name) for module in (nearboost, nearboost.features) for name in module.__all__]
    kinds = [getattr(module, name) for module, name in public]
    estimators = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    assert {type(subject.make()) for subject in SUBJECTS.values()} == estimators
    assert all(type(subject.make()).__name__ == name for name, subject in SUBJECTS.items())


def test_only_what_applies_is_listed():
    tried = {case.values for case in PROMISES}
    failing, rounded = ({(check, name) for check in of for name in of[check]} for of in (EXPECTED, ROUNDED))
    assert failing | rounded <= tried
    assert not failing & rounded
