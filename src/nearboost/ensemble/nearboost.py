"""NearBoostClassifier: the estimator without knobs."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from nearboost.base.estimator import Estimator
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema, set_fitted
from nearboost.base.threads import count_threads, map_in_threads, one_matrix_thread
from nearboost.base.validation import check_count_or_share, is_share, validate_rows
from nearboost.ensemble.choosing import Labelled
from nearboost.ensemble.code_heads import QUERIES_AT_ONCE, pieces_of
from nearboost.ensemble.explaining import StackedExplanation, explain_rows
from nearboost.ensemble.learning import Learned, Learner
from nearboost.ensemble.report import Report
from nearboost.ensemble.state import SCHEMA, collect, restore
from nearboost.problem.calibration import keep_leader
from nearboost.problem.classifier import RankingClassifierMixin
from nearboost.problem.held_out import (
    LARGE,
    deal_cross_folds,
    find_generator,
    join_equal_rows,
    mark_rows,
    number_folds,
    standard_error,
)
from nearboost.problem.targets import (
    ARGMAX,
    GivenRows,
    Labels,
    TrainingSet,
    check_two_classes,
    find_coding,
    has_one_each,
    labels_from_classes,
    pose_problem,
)

SCALING_ROWS, SCALING_FOLDS = 600, 3
N_STEPS = 5
LEAST_WEIGHT = 1e-9  # of the largest
PIECES_AT_ONCE = 64  # of queries


class NearBoostClassifier(RankingClassifierMixin, ClassifierMixin, Estimator):
    """Nearest neighbours in a learned metric, calibrated: nothing to choose, nothing to scale.

    Three scores are added up. Each row is written as a sum of training rows; the *vote* is the weight of each
    class in it. It is written as a sum of each class's rows alone; the *residual* says how close that comes. The
    *linear* score is a regression on a Gaussian kernel. Scales of features, the metric, the regression and the
    weights of the three are chosen on rows that were held out of learning, so are the probabilities.

    Parameters
    ----------
    n_prototypes : int, float or None, default=None
        How many rows to compare queries with, as a number or as a fraction of the training set: centroids of each
        class. None compares with all rows. A tenth answers several times faster, and costs from nothing to 4
        points where classes have hundreds of rows, more where they have dozens.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of each class's rows, as in scikit-learn.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds, landmarks and centroids. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    voters_ : ndarray of shape (n_voters,)
        Training rows that an answer may come from: all of positive weight, or those nearest to the centroids.
    report_ : Report
        What was tried, its held-out log-loss, what was chosen, seconds of each step.
    held_out_rows_ : ndarray of shape (n_held_out,)
        Training rows scored without having been learned from.
    held_out_scores_ : ndarray of shape (n_held_out, n_classes)
        Scores of those rows.
    held_out_proba_ : ndarray of shape (n_held_out, n_classes)
        Probabilities of those rows.
    held_out_accuracy_ : float
        Accuracy on those rows: the figure to trust until there is test data. NaN where no row can be held out.
    held_out_error_ : float
        Standard error of that accuracy, by groups, and no less than with one more row right and one wrong, so that
        it is never 0.
    held_out_log_loss_ : float
        Log-loss on those rows whose class was seen in learning.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Folds hold a third of the rows out (a fifth of fewer than 800, a thousand of more than 3,000), so the held-out
    accuracy is a little low, much so where classes have a handful of rows. Equal rows and rows of one group are
    held out together and never vote on each other in training. Where each class has a single row or group, nothing
    can be held out: fixed settings are used, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import NearBoostClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NearBoostClassifier().fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.2f}")
    0.99
    """

    model_schema: ClassVar[Schema] = SCHEMA

    def __init__(
        self,
        n_prototypes: int | float | None = None,
        *,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_count_or_share("n_prototypes", self.n_prototypes)
        count_threads(self.n_jobs)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Choose on held-out rows, then learn from all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, in any units.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each sample; only ratios count, those below 1e-9 of the largest as that. 0 leaves a sample
            out.
        groups : array-like of shape (n_samples,) or None, default=None
            Group labels of samples that belong together, such as frames of one track. Samples of one group are
            held out together and never vote on each other in training.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        self.check_parameters()
        X, y = validate_rows(
            self, X, y, dtype=[np.float64, np.float32], order="C", multi_output=True, ensure_min_samples=2
        )
        given = GivenRows.of(X, y, sample_weight, groups)
        coding = find_coding(given.y)
        if coding.multilabel:
            cure = ARGMAX if has_one_each(given.y) else "N3Classifier takes several"
            raise ValueError(f"NearBoostClassifier takes one label per sample; {cure}.")
        posed = pose_problem(given, coding, self.class_weight)
        counted, rows, data = arrange(posed)
        with one_matrix_thread():
            learned = self._learn(rows, data)
        self.classes_ = coding.classes  # last: a fit that fails half way leaves the answers of the one before
        self._keep(learned, given.kept[counted], data)
        return self

    def _learn(self, rows: NDArray[np.floating], data: Labelled) -> Learned:
        generator = find_generator(self.random_state)
        labels = labels_from_classes(data.classes, data.n_classes)
        folds = deal_cross_folds(labels, data.groups, generator)
        self.report_ = Report()
        learner = Learner(rows, data, self._count_prototypes(data), self.n_jobs, generator, self.report_)
        if not folds:
            warnings.warn(
                "Every class has a single row or group, so nothing can be held out: settings are fixed, "
                "probabilities are not calibrated and the held-out figures are NaN; give more rows.",
                stacklevel=3,
            )
            self.report_.notes.append("No row could be held out: nothing was tried, and settings are fixed.")
            return learner.learn_unseen()
        self._add_notes(labels, data, folds)
        with progress_bar("Learning", N_STEPS, self.verbose) as advance:
            learned = learner.learn(folds, self._scaling_folds(labels, data, generator), advance)
        self.report_.notes += learned.answers.coded.notes
        return learned

    def _scaling_folds(
        self, labels: Labels, data: Labelled, generator: np.random.RandomState
    ) -> list[NDArray[np.int64]]:
        """Three folds of few rows."""
        n_parts = SCALING_FOLDS * max(1, -(-len(data) // SCALING_ROWS))
        fold_of_row = number_folds(labels, data.groups, n_parts, generator.random_sample)
        folds = [np.flatnonzero(fold_of_row == fold) for fold in range(SCALING_FOLDS)]
        most = SCALING_ROWS // SCALING_FOLDS  # a large group could have more
        return [
            fold if len(fold) <= most else np.sort(generator.permutation(fold)[:most])
            for fold in folds
            if len(fold)
        ]

    def _count_prototypes(self, data: Labelled) -> int | None:
        if self.n_prototypes is None:
            return None
        share = is_share(self.n_prototypes)
        wanted = round(self.n_prototypes * len(data)) if share else int(self.n_prototypes)
        n_present = len(np.unique(data.classes))
        if wanted < n_present and not share:
            raise ValueError(
                f"n_prototypes={wanted} is fewer than the {n_present} classes; use {n_present} or more."
            )
        return min(max(wanted, n_present), len(data))

    def _add_notes(self, labels: Labels, data: Labelled, folds: list[NDArray[np.int64]]) -> None:
        held = len(np.unique(np.concatenate(folds)))
        learned = len(data) - max(len(fold) for fold in folds)
        self.report_.notes.append(
            f"Held-out figures are of {held:,} rows, each scored by what was learned from {learned:,} or more of "
            f"{len(data):,}: the classifier, which learned from all, is a little better, and much better where "
            "classes have a handful of rows."
        )
        if len(data) > LARGE:
            self.report_.notes.append(f"{held:,} rows were enough to choose by; the others were not held out.")

    def _keep(self, learned: Learned, kept: NDArray[np.int64], data: Labelled) -> None:
        """What was learned, as attributes; rows by their numbers in the user's X."""
        self._answers = learned.answers
        self._representatives = kept[learned.representatives]
        self._landmark_rows = kept[learned.landmark_rows]
        rows, places = np.unique(learned.held_rows, return_inverse=True)
        sums = np.zeros((len(rows), data.n_classes))
        np.add.at(sums, places, learned.held_scores)
        means = sums / np.bincount(places, minlength=len(rows))[:, np.newaxis]  # over repeated folds
        order = np.argsort(kept[rows])
        rows, self.held_out_rows_, self.held_out_scores_ = rows[order], kept[rows[order]], means[order]
        self.held_out_log_loss_ = learned.held_loss
        right = self.held_out_scores_.argmax(axis=1) == data.classes[rows]
        self.held_out_accuracy_ = float(right.mean()) if len(rows) else np.nan
        self.held_out_error_ = standard_error(right, data.groups[rows]) if len(rows) else np.nan

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        return collect(self)

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Take back what a file holds."""
        set_fitted(self, state)
        restore(self, state)

    @property
    def voters_(self) -> NDArray[np.int64]:
        """Training rows that an answer may come from."""
        check_is_fitted(self)
        return np.unique(self._representatives)

    @property
    def held_out_proba_(self) -> NDArray[np.float64]:
        """Probabilities of the held-out rows."""
        check_is_fitted(self)
        return self._probabilities_from(self.held_out_scores_)

    def explain(self, X: ArrayLike, *, landmarks: bool = False) -> list[StackedExplanation]:
        """The training rows behind each answer, and what each adds to its class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        landmarks : bool, default=False
            Also name the rows that the linear score is a sum over: a thousand terms that cancel.

        Returns
        -------
        list of StackedExplanation
            One per row; everything adds up to `decision_function` to within 1e-5 of the scores' span.
        """
        X = self._check_queries(X)
        rows = self._landmark_rows if landmarks else None
        with one_matrix_thread():
            return [
                one
                for piece in self._pieces(len(X))
                for one in explain_rows(self._answers, X[piece], self._representatives, rows, self.classes_)
            ]

    def _check_queries(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self)
        return validate_rows(self, X, dtype=[np.float64, np.float32], order="C", reset=False)

    def _pieces(self, n_queries: int) -> list[slice]:
        return pieces_of(n_queries, self._answers.coded)

    @property
    def _rows_at_once(self) -> int:
        return PIECES_AT_ONCE * self._pieces(QUERIES_AT_ONCE)[0].stop

    def _scores_of(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        with one_matrix_thread():
            scores = map_in_threads(
                lambda piece: self._answers.scores(rows[piece]), self._pieces(len(rows)), self.n_jobs
            )
        return np.concatenate(scores)

    def _probabilities_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return keep_leader(softmax(scores, axis=1), scores)


def arrange(posed: TrainingSet) -> tuple[NDArray[np.int64], NDArray[np.floating], Labelled]:
    """The rows that count, in an order that depends on their values alone: nothing depends on that of the user."""
    classes, weight = posed.labels.classes(), posed.weights.product
    counted = np.flatnonzero(weight > 0)
    check_two_classes(classes[counted])
    if not np.any(posed.X[counted] != posed.X[counted[0]]):
        raise ValueError("All samples are equal, so no feature tells classes apart; give features that vary.")
    marks = mark_rows(posed.X[counted])
    order = np.lexsort((weight[counted], classes[counted], marks))
    counted, marks = counted[order], marks[order]
    groups = join_equal_rows(marks, posed.groups[counted])
    labelled = Labelled(classes[counted], in_proportion(weight[counted]), groups, posed.labels.n_classes)
    return counted, posed.X[counted], labelled


def in_proportion(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of 1 on average, as only ratios count; none so small that sums lose it."""
    weight = np.maximum(weight / weight.max(), LEAST_WEIGHT)
    return weight / weight.mean()
