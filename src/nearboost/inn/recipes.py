"""The projections of scikit-learn that `INNProjection` is compared with, set up as in the paper."""

from typing import Any

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from nearboost.inn.discriminants import ChosenDiscriminants


def regularized_lda(
    n_components: int | None = None, *, shrinkage: float | str = "choose", normalize: bool = True
) -> Pipeline:
    """Linear discriminants with a shrunk within-class covariance; at most one fewer than there are classes.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of discriminants; None means all.
    shrinkage : float, "choose" or "auto", default="choose"
        Share of the mean variance in the covariance matrix. "choose" lets three folds of the training rows decide,
        each classified by the nearest of the others: see `ChosenDiscriminants`. The paper's 0.001 suits thousands
        of rows; "auto" is the rule of Ledoit and Wolf.
    normalize : bool, default=True
        Scale rows to unit length before the projection and after it.

    Returns
    -------
    Pipeline
        An unfitted scikit-learn pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import regularized_lda
    >>> X, y = load_digits(return_X_y=True)
    >>> regularized_lda().fit(X, y).transform(X).shape
    (1797, 9)
    """
    if shrinkage == "choose":
        return _between_unit_lengths(ChosenDiscriminants(n_components), normalize)
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, n_components=n_components)
    return _between_unit_lengths(lda, normalize)


def eigenfaces(n_components: int | float | None = None, *, normalize: bool = True) -> Pipeline:
    """Principal components.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, or the share of the variance they hold; None means all.
    normalize : bool, default=True
        Scale rows to unit length before the projection and after it.

    Returns
    -------
    Pipeline
        An unfitted scikit-learn pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import eigenfaces
    >>> X, _ = load_digits(return_X_y=True)
    >>> eigenfaces(20).fit_transform(X).shape
    (1797, 20)
    """
    return _between_unit_lengths(PCA(n_components), normalize)


def _between_unit_lengths(projection: Any, normalize: bool) -> Pipeline:
    return make_pipeline(Normalizer(), projection, Normalizer()) if normalize else make_pipeline(projection)
