"""What this library promises of every estimator; each check asks for one promise.

The answers of an estimator are compared to the last bit, or to ``within`` where it is given.
"""

import inspect
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from threadpoolctl import threadpool_limits

from nearboost import load, save
from promises.subjects import Data, Subject, take

METHODS = ("predict", "predict_proba", "decision_function", "class_posteriors", "transform", "score_samples")
Answers = dict[str, list[NDArray[Any]]]  # of each method, what it says of each query


def answers(model: Any, X: Any) -> Answers:
    """Everything a model says of some rows, images or sets."""
    return {
        name: list(map(as_array, as_rows(getattr(model, name)(X)))) for name in METHODS if hasattr(model, name)
    }


def as_rows(answer: Any) -> Any:
    """Sparse codes as a matrix."""
    return answer.toarray() if hasattr(answer, "toarray") else answer


def as_array(answer: Any) -> NDArray[Any]:
    """A row, or the values of a set of local descriptors."""
    return np.asarray(getattr(answer, "values", answer))


def assert_same(got: Answers, expected: Answers, within: float = 0.0) -> None:
    assert got.keys() == expected.keys()
    assert expected, "this estimator answers nothing"
    for name in expected:
        for ours, theirs in zip(got[name], expected[name], strict=True):
            if within == 0 or theirs.dtype.kind not in "f":
                np.testing.assert_array_equal(ours, theirs, err_msg=name, strict=True)
            else:
                largest = np.abs(theirs).max(initial=1.0)
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=within * largest, err_msg=name)


def picked(given: Answers, places: Sequence[int] | NDArray[np.int64]) -> Answers:
    return {name: [of_queries[place] for place in places] for name, of_queries in given.items()}


def fit_params(estimator: Any) -> set[str]:
    """What fit takes beside X and y; those of a classifier inside count as well."""
    own = set(inspect.signature(estimator.fit).parameters)
    return own | fit_params(estimator.estimator) if "fit_params" in own else own


# ---- same answers ----


def check_threads(subject: Subject, within: float = 0.0) -> None:
    """One thread and two give the same model and answers, ours and those of the matrix library."""
    data, found = subject.data_for_threads(), []
    for n_threads in (1, 2):
        model = subject.make()
        settings = [name for name in model.get_params() if name.split("__")[-1] == "n_jobs"]
        model.set_params(**dict.fromkeys(settings, n_threads))
        with threadpool_limits(n_threads):
            found.append(answers(model.fit(data.X, data.y), data.queries))
    assert_same(found[1], found[0], within)


def check_batches(subject: Subject, within: float = 0.0) -> None:
    """Queries get the same answers alone, a few at a time and all together."""
    model, queries = subject.fitted(), subject.data().queries
    together = answers(model, queries)
    for size in (1, 3):
        for first in range(0, len(queries), size):
            places = range(first, min(first + size, len(queries)))
            assert_same(answers(model, take(queries, places)), picked(together, places), within)


def check_permuted_queries(subject: Subject, within: float = 0.0) -> None:
    """The order of queries does not matter."""
    model, queries = subject.fitted(), subject.data().queries
    order = np.random.default_rng(0).permutation(len(queries))
    assert_same(answers(model, take(queries, order)), picked(answers(model, queries), order), within)


def check_permuted_rows(subject: Subject, within: float = 0.0) -> None:
    """The order of training rows does not matter."""
    data, model = subject.data(), subject.fitted()
    order = np.random.default_rng(0).permutation(len(data.y))
    permuted = subject.make().fit(take(data.X, order), data.y[order])
    assert_same(answers(permuted, data.queries), answers(model, data.queries), within)


def check_zero_weights(subject: Subject, within: float = 0.0) -> None:
    """A row of weight 0 might as well not be there."""
    data = subject.data()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(data.y))
    weights[::4] = 0
    kept = np.flatnonzero(weights)
    few = subject.make().fit(take(data.X, kept), data.y[kept], sample_weight=weights[kept])
    assert_same(answers(subject.fitted(sample_weight=weights), data.queries), answers(few, data.queries), within)


def check_saved(subject: Subject, within: float = 0.0) -> None:
    """What is loaded from a model file has the same settings and gives the same answers."""
    model, queries = subject.fitted(), subject.data().queries
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.nb")
        loaded = load(Path(folder) / "model.nb")
    assert repr(loaded) == repr(model)
    assert_same(answers(loaded, queries), answers(model, queries), within)


# ---- answers that fit together ----


def check_agreement(subject: Subject, within: float = 0.0) -> None:
    """Scores, probabilities and predictions name the same class; probabilities are some."""
    data = subject.data()
    for n_classes in (2, len(np.unique(data.y))):
        some = np.flatnonzero(data.y < n_classes)
        model = subject.make().fit(take(data.X, some), data.y[some])
        predicted = model.predict(data.queries)
        if hasattr(model, "decision_function"):
            scores = model.decision_function(data.queries)
            leading = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
            np.testing.assert_array_equal(model.classes_[leading], predicted)
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(data.queries)
            np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], predicted)
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)
            assert shares.min() >= 0


def check_explanations(subject: Subject, within: float = 0.0) -> None:
    """The contributions in an explanation add up to the score, or to the shares of votes."""
    model, queries = subject.fitted(), subject.data().queries
    added = [added_up(explanation) for explanation in model.explain(queries)]
    score = getattr(model, "decision_function", model.predict_proba)
    assert_same({"score": added}, {"score": list(score(queries))}, within)


def added_up(explanation: Any) -> NDArray[np.float64]:
    """Votes in their order, or the weights of each class."""
    if hasattr(explanation, "contributions"):
        total = np.zeros(explanation.contributions.shape[1])
        for contribution in explanation.contributions:
            total = total + contribution
        return total + explanation.intercept
    return np.array([explanation.weights[explanation.labels == c].sum() for c in range(len(explanation.classes))])


def check_groups(subject: Subject, within: float = 0.0) -> None:
    """Of labels drawn at random, rows that nearly repeat each other tell something, unless they are a group."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 40)), rng.integers(3, size=60)
    X, y, groups = (np.repeat(values, 8, axis=0) for values in (X, y, np.arange(60)))
    X += 1e-6 * rng.standard_normal(X.shape)
    X = X if isinstance(subject.data().X, np.ndarray) else list(X[:, np.newaxis])  # images of one descriptor
    assert held_out_accuracy(subject.make().fit(X, y)) > 0.7
    assert held_out_accuracy(subject.make().fit(X, y, groups=groups)) < 0.7


def held_out_accuracy(model: Any) -> float:
    """As the model tells it; of several parts the mean, of several trials the best."""
    if hasattr(model, "estimators_"):
        return float(np.mean([held_out_accuracy(part) for part in model.estimators_]))
    if hasattr(model, "held_out_accuracy_"):
        return float(model.held_out_accuracy_)
    assert hasattr(model, "report_"), "It holds no rows out."
    return max(trial["accuracy"] for trial in model.report_["trials"])


# ---- what is given stays the user's ----


def arrays_of(data: Data) -> list[NDArray[Any]]:
    """Every array of the rows, images or sets to learn from and to ask about."""
    return [as_array(one) for X in (data.X, data.queries) for one in ([X] if isinstance(X, np.ndarray) else X)]


def copied(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return X.copy(order="K")
    return [replace(one, values=one.values.copy()) if hasattr(one, "values") else one.copy() for one in X]


def check_input_unchanged(subject: Subject, within: float = 0.0) -> None:
    """Neither fitting nor asking writes into what is given."""
    given = subject.data()
    data = Data(copied(given.X), given.y.copy(), copied(given.queries))
    answers(subject.make().fit(data.X, data.y), data.queries)
    np.testing.assert_array_equal(data.y, given.y)
    for ours, theirs in zip(arrays_of(data), arrays_of(given), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def check_input_not_kept(subject: Subject, within: float = 0.0) -> None:
    """Writing into what was given to fit changes no answer, and answers share no memory with the queries."""
    given = subject.data()
    data = Data(copied(given.X), given.y.copy(), copied(given.queries))
    model = subject.make().fit(data.X, data.y)
    before = answers(model, data.queries)
    for said in before.values():
        assert not any(np.shares_memory(one, query) for one in said for query in arrays_of(data))
    rng = np.random.default_rng(0)
    data.y[:] = rng.permutation(data.y)
    for array in arrays_of(replace(data, queries=[])):
        array[:] = rng.permuted(array, axis=0)
    assert_same(answers(model, data.queries), before, within)


Check = Callable[..., None]
Applies = Callable[[Any], bool]


def takes(name: str) -> Applies:
    return lambda estimator: name in fit_params(estimator)


def has(name: str) -> Applies:
    return lambda estimator: hasattr(estimator, name)


def always(estimator: Any) -> bool:
    return True


CHECKS: dict[Check, Applies] = {
    check_threads: always,
    check_batches: always,
    check_permuted_queries: always,
    check_permuted_rows: always,
    check_zero_weights: takes("sample_weight"),
    check_groups: takes("groups"),
    check_saved: always,
    check_agreement: is_classifier,
    check_explanations: has("explain"),
    check_input_unchanged: always,
    check_input_not_kept: always,
}
