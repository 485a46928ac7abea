"""Linear discriminants whose shrinkage is chosen by rows that did not make them."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Number
from nearboost.base.estimator import Estimator
from nearboost.base.schema import Schema, of_rows, set_fitted
from nearboost.base.validation import check_whole, validate_rows
from nearboost.neighbors import NeighborSearch
from nearboost.problem.held_out import spread_folds
from nearboost.problem.targets import encode_classes

SHRINKAGES = (0.6, 0.3, 0.1, 0.03, 0.01, 0.001)  # the largest of equals is taken
N_FOLDS = 3


class ChosenDiscriminants(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Linear discriminants with a within-class covariance that is shrunk as suits held-out rows.

    Of three folds of the training rows each is projected by discriminants of the others, and gets the class of the
    nearest of these rows, by angle; the shrinkage that is right most often is taken for all rows.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of discriminants; None means all, at most one fewer than there are classes.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The discriminants; `transform` returns X @ components_.T.
    shrinkage_ : float
        Share of the mean variance in the covariance matrix: 0.6, 0.3, 0.1, 0.03, 0.01 or 0.001.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost.inn.discriminants import ChosenDiscriminants
    >>> X, y = load_digits(return_X_y=True)
    >>> ChosenDiscriminants().fit(X[:100], y[:100]).transform(X).shape
    (1797, 9)
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            "components_": Array("float64", ("n_components", "n_features")),
            "shrinkage_": Number(low=0, high=1),
        }
    )

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components, optional=True)

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the shrinkage, then learn the discriminants.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : ChosenDiscriminants
            The fitted estimator.
        """
        self.check_parameters()
        X, y = validate_rows(self, X, y, dtype=np.float64, ensure_min_samples=2)
        if len(np.unique(y)) == len(np.unique(np.column_stack([encode_classes(y)[1], X]), axis=0)):
            raise ValueError("No class has two different rows, so there is nothing to shrink; give more rows.")
        folds = spread_folds(X, y, None, N_FOLDS, 0)
        right = [sum(self._n_right(X, y, folds == fold, one) for fold in np.unique(folds)) for one in SHRINKAGES]
        self.shrinkage_ = SHRINKAGES[int(np.argmax(right))]
        self.components_ = self._learn(X, y, self.shrinkage_)
        return self

    def _learn(self, X: NDArray[np.float64], y: NDArray[Any], shrinkage: float) -> NDArray[np.float64]:
        lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, n_components=self.n_components)
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):  # shares of no variance
            warnings.filterwarnings("ignore", message="Only one sample available")  # of a class: it has no spread
            lda.fit(X, y)
        return np.ascontiguousarray(lda.transform(np.eye(X.shape[1])).T)

    def _n_right(self, X: NDArray[np.float64], y: NDArray[Any], held: NDArray[np.bool_], shrinkage: float) -> int:
        """How many rows of a fold the nearest of the others tells the class of; 0 where these make none."""
        if not 1 < len(np.unique(y[~held])) < np.count_nonzero(~held):
            return 0
        try:
            components = self._learn(X[~held], y[~held], shrinkage)
        except np.linalg.LinAlgError:  # rows of a class are all equal there
            return 0
        others, rows = (normalize(part @ components.T) for part in (X[~held], X[held]))
        nearest = NeighborSearch(others, copy=False).search(rows, 1).indices[:, 0]
        return int(np.count_nonzero(y[~held][nearest] == y[held]))

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        return {**vars(self)} if hasattr(self, "components_") else {}

    def restore_model_state(self, state: Any) -> None:
        """Take what a file has kept."""
        set_fitted(self, state)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Project rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to project.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Projected rows.
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, dtype=np.float64, reset=False)
        return np.asarray(rows @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
