"""The projections of scikit-learn that `INNProjection` is compared with, set up as in the paper."""

from typing import Any

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer


def regularized_lda(
    n_components: int | None = None, *, shrinkage: float | str = 0.001, normalize: bool = True
) -> Pipeline:
    """Linear discriminants with a shrunk within-class covariance; at most one fewer than there are classes.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of discriminants; None means all.
    shrinkage : float or "auto", default=0.001
        Share of the mean variance in the covariance matrix. The paper's 0.001 suits thousands of rows; "auto" is
        the rule of Ledoit and Wolf.
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
    >>> regularized_lda(shrinkage="auto").fit(X, y).transform(X).shape
    (1797, 9)
    """
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
