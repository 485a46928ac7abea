"""Contenders get the settings that suit the data: chosen by folds inside the training rows, never on test rows."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from nearboost.base.estimator import Estimator
from nearboost.base.threads import one_matrix_thread
from nearboost.ensemble.calibrated import CalibratedScores
from nearboost.problem.held_out import spread_folds

NO_LENGTH = 1e-12  # of the largest squared length: what rounding leaves of a direction that does not exist


def _best_has(name: str) -> Any:
    def check(tuned: "Tuned") -> bool:
        if not (name == "predict_proba" and tuned.calibrated):
            getattr(getattr(tuned, "best_estimator_", tuned.estimator), name)
        return True

    return check


class Tuned(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier whose settings are the best of a grid, judged by folds of the training rows.

    Parameters
    ----------
    estimator : the classifier
    grid : values to try for each of its settings
    units : settings whose values are multiples of a unit that the rows give, so that the grid does not depend on
        the scale of the features: "norm" is 1 over the mean squared length of a row, "variance" is 1 over the
        number of features times their variance
    by_products : whether the classifier sees rows by their products alone, as machines of support vectors do; the
        grid is then tried on rows of as few features as there are rows, where products are the same
    calibrated : whether the best one, which has scores alone, is given probabilities by its held-out scores
    n_folds : folds; they do not divide groups where groups are given, nor rows that are equal
    random_state : seed of the folds; None is 0
    n_jobs : threads, which fit some folds at once

    Attributes
    ----------
    best_estimator_ : the classifier with the best settings, fitted to all rows; this is what to save
    best_params_ : the settings, in the classifier's own terms
    classes_, n_features_in_ : as in the classifier

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from nearboost.catalogue.tuning import Tuned
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Tuned(SVC(), {"C": (1, 10), "gamma": (0.25, 1, 4)}, units={"gamma": "variance"}).fit(X, y)
    >>> model.best_params_["C"], round(model.best_params_["gamma"], 3)
    (1, 0.257)
    """

    def __init__(
        self,
        estimator: Any,
        grid: Mapping[str, Sequence[Any]],
        *,
        units: Mapping[str, str] | None = None,
        by_products: bool = False,
        calibrated: bool = False,
        n_folds: int = 3,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.units = units
        self.by_products = by_products
        self.calibrated = calibrated
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, groups: NDArray[Any] | None = None) -> Self:
        """Try the grid on folds of the rows, then fit the best to all of them."""
        labels = np.asarray(y)
        grid = self._in_units(X)
        folds = spread_folds(np.asarray(X), labels, groups, self.n_folds, self.random_state)
        if not folds.any():  # nothing to judge by
            self.best_params_ = {name: values[0] for name, values in grid.items()}
        else:
            rows = in_their_span(np.asarray(X)) if self.by_products else X
            self.best_params_ = self._search(grid, folds, rows, labels)
        best = clone(self.estimator).set_params(**self.best_params_)
        if self.calibrated:
            best = CalibratedScores(best, random_state=self.random_state)
        known = {"groups": groups} if has_fit_parameter(best, "groups") else {}
        self.best_estimator_ = best.fit(X, labels, **known)
        self.classes_, self.n_features_in_ = self.best_estimator_.classes_, self.best_estimator_.n_features_in_
        return self

    def _search(self, grid: Any, folds: NDArray[np.int64], X: Any, y: NDArray[Any]) -> dict[str, Any]:
        joblib = import_module("joblib")  # a part of scikit-learn, without types
        search = GridSearchCV(self.estimator, grid, cv=PredefinedSplit(folds), n_jobs=self.n_jobs, refit=False)
        alone = nullcontext() if self.n_jobs == 1 else one_matrix_thread()  # folds have the other threads
        with warnings.catch_warnings(), joblib.parallel_backend("threading"), alone:
            warnings.simplefilter("ignore", FitFailedWarning)  # such as more neighbours than rows: not chosen
            warnings.filterwarnings("ignore", message="One or more of the test scores")
            found: dict[str, Any] = search.fit(X, y).best_params_
        return found

    def _in_units(self, X: Any) -> dict[str, list[Any]]:
        grid = {name: list(values) for name, values in self.grid.items()}
        for name, unit in (self.units or {}).items():
            grid[name] = [value * unit_of(X, unit) for value in grid[name]]
        return grid

    def predict(self, X: Any) -> NDArray[Any]:
        """As the best classifier says."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """As the best classifier says."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """As the best classifier says."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)


def in_their_span(X: NDArray[Any]) -> NDArray[Any]:
    """Rows of no more features than there are rows, with the same products: with X = U S Vᵀ, these are U S."""
    if X.shape[1] <= len(X):
        return X
    rows = X.astype(np.float64, copy=False)
    with one_matrix_thread():  # the same sums for any number of threads
        squares, directions = np.linalg.eigh(rows @ rows.T)
    kept = squares > NO_LENGTH * max(squares[-1], 0)
    return np.asarray(directions[:, kept] * np.sqrt(squares[kept]), dtype=X.dtype) if kept.any() else X


def unit_of(X: Any, unit: str) -> float:
    """What one means for a setting, from the rows; 1 where they are all zero."""
    rows = np.asarray(X)
    squares = np.einsum("ij,ij->", rows, rows, dtype=np.float64)
    size = (
        squares / len(rows)
        if unit == "norm"
        else squares / len(rows) - rows.shape[1] * rows.mean(dtype=float) ** 2
    )
    return float(1 / size) if size > 0 else 1.0
