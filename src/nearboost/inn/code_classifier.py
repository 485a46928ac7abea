"""What classifiers by codes share: rows in, a number for each class out, the largest wins."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Nullable, Part, Spec
from nearboost.base.estimator import Estimator
from nearboost.base.loading import loaded
from nearboost.base.rows import check_rows, row_source
from nearboost.base.schema import CLASSES, Schema, of_rows, set_fitted
from nearboost.base.validation import check_choice, check_flag
from nearboost.inn.decisions import Classes, Decision, ExplainedDecision
from nearboost.neighbors import largest_values
from nearboost.problem.classifier import DecidingClassifierMixin
from nearboost.problem.given import check_kept
from nearboost.problem.held_out import mark_rows
from nearboost.problem.others import ENTRIES, UNKNOWN, HeldOut, HeldOutOnce, cross_fit
from nearboost.problem.targets import GivenRows, check_weights, encode_classes, number_groups

DECISIONS = ("weights", "residual")


def _check_given(state: Mapping[str, Any]) -> None:
    if "given_weight" in state:
        check_kept(state["given_weight"], state["kept"])


def schema_of_samples(name: str, optional: tuple[str, ...] = (), n_kept: str = "n_rows", **more: Spec) -> Schema:
    """What is kept of a classifier by codes: its samples, and the settings they were taken in with."""
    return of_rows(
        {
            **CLASSES,
            "as_fitted": Part((name,), fitted=False),
            "kept": Array("int64", (n_kept,), low=0, rising=True),
            "rows": Array("float", ("n_rows", "n_features"), by_rows=True),
            "row_classes": Array("int64", ("n_rows",), low=0, below="n_classes", every=True),
            "weights": Nullable(Array("float64", ("n_rows",), above=0)),
            **ENTRIES,
            **more,
        },
        ("given_weight", *ENTRIES, *optional),
        dropped=("gram_memory",),  # suits one machine
        check=_check_given,
    )


def judge(decision: Decision, groups: NDArray[np.int32]) -> HeldOut:
    """How good a decision is on its own samples, each decided by those of other groups."""

    def evidence_by_others(held: NDArray[np.int64], groups: NDArray[np.int32]) -> NDArray[np.float64]:
        return decision.evidence(decision.scores_by_others(held, groups))

    return cross_fit(mark_rows(decision.samples), decision.classes, groups, evidence_by_others)


class CodeClassifier(DecidingClassifierMixin, ClassifierMixin, Estimator):
    """Base of the classifiers by codes: keeps the samples, codes rows by them and decides by the codes."""

    normalize: bool
    decision: str
    _decision: Decision
    _held_out: HeldOutOnce
    _kept: NDArray[np.int64]
    _as_fitted: Self  # not fitted itself; has the parameters of `fit`, whatever they are set to later
    _rows_at_once = 8192  # whose codes are held until they are summed up
    _cure = "give fewer samples"

    @property
    def _reads_files(self) -> bool:
        """Whether samples in a file, or in half precision, are read where they are."""
        return False

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_flag("normalize", self.normalize)
        check_choice("decision", self.decision, DECISIONS)

    def _decide_by(self, X: NDArray[Any], classes: Classes, weights: NDArray[np.float64]) -> Decision:
        """The decision, of samples that are left in and checked."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Compute what makes answers faster; a model from a file does so when it is asked."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Store the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. They are copied and kept, those of a memory-mapped file as well: they must fit in
            memory, but for `INNClassifier` with ``neighborhood``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            0 leaves a sample out; other weights multiply its part of the sums in ``decision="weights"``.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as frames of one film, are held out together where probabilities are
            calibrated. None makes each sample a group of its own.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        X, y = check_rows(self, X, y, reset=True, accept_sparse=False, keep=not self.normalize, order="C")
        check_weights(sample_weight, len(X))
        given = GivenRows.of(X, y, sample_weight, groups)
        samples = given.X if self._reads_files else loaded(given.X, self._cure)
        return self._learn(given, unit_rows(samples) if self.normalize else samples)

    def _learn(self, given: GivenRows, samples: NDArray[Any]) -> Self:
        """Decide by the samples that count, as they are after scaling."""
        kept = given.kept
        weights = np.ones(len(kept)) if given.weight is None else given.weight[kept]
        self.classes_, classes = encode_classes(given.y[kept])
        groups = number_groups(given.groups, len(kept))
        self._kept, self._as_fitted = kept, clone(self)
        self._decision = self._decide_by(samples, classes, weights)
        self._held_out = HeldOutOnce(partial(judge, self._decision, groups))
        self._prepare()
        return self

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        if not hasattr(self, "_decision"):
            return {}
        return {
            **vars(self),
            "as_fitted": self._as_fitted,
            "kept": self._kept,
            "rows": rows_to_keep(self._decision.samples),
            "row_classes": self._decision.classes,
            "weights": self._decision.weights,
            **self._held_out.found.entries(),
        }

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Decide again by the samples of a file."""
        set_fitted(self, state)
        self._kept, self._as_fitted = state["kept"], state["as_fitted"]
        weights = np.ones(len(state["rows"])) if state["weights"] is None else state["weights"]
        self._decision = self._as_fitted._decide_by(state["rows"], state["row_classes"], weights)
        groups = number_groups(state.get("groups"), len(state["rows"]))
        self._held_out = HeldOutOnce(partial(judge, self._decision, groups))
        if "held_out_temperature" in state:
            self._held_out.found = HeldOut.of_entries(state)
        elif len(state["rows"]) < len(self._kept):  # in older files, condensed samples cannot be left out
            self._held_out.found = UNKNOWN

    @property
    def voters_(self) -> NDArray[np.int64]:
        """The training rows that an answer may come from: all but those of weight 0."""
        check_is_fitted(self)
        return self._kept

    @property
    def temperature_(self) -> float:
        """What evidence is divided by to get calibrated probabilities."""
        check_is_fitted(self)
        return self._held_out.found.calibration.temperature

    @property
    def held_out_accuracy_(self) -> float:
        """Share of right answers on held-out training rows; NaN, with a warning, if every class has one group."""
        check_is_fitted(self)
        return self._held_out.found.known_accuracy()

    def _scores_of(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return self._decision.scores(unit_rows(rows) if self._as_fitted.normalize else rows)

    def _probabilities_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._held_out.found.probabilities(self._decision.evidence(scores), scores)

    def _checked(self, X: ArrayLike) -> NDArray[Any]:
        check_is_fitted(self)
        rows = row_source(check_rows(self, X, reset=False, accept_sparse=False, order="C"))
        found: NDArray[Any] = rows.part(slice(0, len(rows)))
        return unit_rows(found) if self._as_fitted.normalize else found


@dataclass(frozen=True)
class CodeExplanation:
    """The samples behind one decision.

    Attributes
    ----------
    samples : ndarray of shape (n_samples_in_code,)
        Training rows in the code, heaviest first.
    weights : ndarray of shape (n_samples_in_code,)
        Weight of each.
    labels : ndarray of shape (n_samples_in_code,)
        Class of each.
    scores : ndarray of shape (n_classes,)
        Score of each class; the largest wins.
    classes : ndarray of shape (n_classes,)
        Class labels.
    """

    samples: NDArray[np.int64]
    weights: NDArray[np.float64]
    labels: NDArray[Any]
    scores: NDArray[np.float64]
    classes: NDArray[Any]


class SparseCodeClassifier(CodeClassifier):
    """A classifier whose codes name few samples."""

    _decision: ExplainedDecision

    def explain(self, X: ArrayLike) -> list[CodeExplanation]:
        """The samples in each row's code, and what they count for.

        They add up to the class sums; for ``decision="residual"`` they are those of the winning class alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Returns
        -------
        list of CodeExplanation
            One per row, heaviest sample first.
        """
        rows = self._checked(X)
        scores, codes = self._decision.decide(rows)
        explanations = []
        for row, class_scores in enumerate(scores):
            part = slice(codes.indptr[row], codes.indptr[row + 1])
            order = np.argsort(-abs(codes.data[part]), kind="stable")
            samples, weights = codes.indices[part][order], codes.data[part][order]
            labels = self.classes_[self._decision.classes[samples]]
            explanations.append(CodeExplanation(self._kept[samples], weights, labels, class_scores, self.classes_))
        return explanations


def rows_to_keep(samples: NDArray[Any]) -> NDArray[Any]:
    """Samples as model files keep them: in float32 or float64, row by row."""
    return np.ascontiguousarray(samples, dtype=row_source(samples).dtype)


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Rows divided by their Euclidean lengths, in the precision they came in."""
    sizes = largest_values(X)
    if not sizes.all():
        raise ValueError(
            f"Row {np.flatnonzero(sizes == 0)[0]} is all zeros and has no direction; "
            "drop it or use normalize=False."
        )
    shrunk = X / sizes[:, np.newaxis]  # whose squares neither overflow nor vanish
    return (shrunk / np.linalg.norm(shrunk, axis=1, keepdims=True)).astype(X.dtype)
