"""What each training row adds to each class, and what the linear head adds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.answers import Answers
from nearboost.ensemble.code_heads import CodedRows, filled


@dataclass(frozen=True)
class StackedExplanation:
    """The evidence for one row.

    Attributes
    ----------
    prototypes : ndarray of shape (n_voters,)
        Training rows behind the answer, nearest first; for a centre of `n_prototypes`, the row nearest to it.
    distances : ndarray of shape (n_voters,)
        Distance of each in the learned metric.
    votes : ndarray of shape (n_voters,)
        What each adds to its class by its weight in the code over all rows.
    residuals : ndarray of shape (n_voters,)
        What each adds to its class by how close the code over its class alone comes.
    labels : ndarray of shape (n_voters,)
        Class of each.
    linear : ndarray of shape (n_classes,)
        What the linear head adds to each class.
    intercept : ndarray of shape (n_classes,)
        The linear head, and what brings the mean over classes to 0.
    landmarks : ndarray of shape (n_landmarks,) or None
        Training rows that the linear head is a sum over, if asked for.
    landmark_contributions : ndarray of shape (n_landmarks, n_classes) or None
        What each adds to ``linear``. They are large and cancel.
    classes : ndarray of shape (n_classes,)
        Class labels.
    """

    prototypes: NDArray[np.int64]
    distances: NDArray[np.float64]
    votes: NDArray[np.float64]
    residuals: NDArray[np.float64]
    labels: NDArray[Any]
    linear: NDArray[np.float64]
    intercept: NDArray[np.float64]
    landmarks: NDArray[np.int64] | None
    landmark_contributions: NDArray[np.float64] | None
    classes: NDArray[Any]

    @property
    def contributions(self) -> NDArray[np.float64]:
        """What each row adds to each class, an array of shape (n_voters, n_classes): 0 but for its own class."""
        own = self.labels[:, np.newaxis] == self.classes
        return np.where(own, (self.votes + self.residuals)[:, np.newaxis], 0.0)

    def total(self) -> NDArray[np.float64]:
        """The score: all contributions and the intercept.

        Returns
        -------
        ndarray of shape (n_classes,)
            Score of each class, as in `decision_function` to within 1e-5 of their span; for two classes that is
            the second less the first.
        """
        codes = np.searchsorted(self.classes, self.labels)
        rows = np.bincount(codes, self.votes + self.residuals, len(self.classes))
        return np.asarray(rows + self.intercept)


@dataclass(frozen=True)
class Evidence:
    """What coded rows add to their classes, for one query."""

    rows: NDArray[np.int64]  # among the coded ones
    votes: NDArray[np.float64]
    residuals: NDArray[np.float64]
    rest: NDArray[np.float64]  # of classes no row of which speaks


def weigh_rows(coded: CodedRows, query: NDArray[np.float32], voters: Any, members: Any, squares: Any) -> Evidence:
    """The terms that vote and residual are sums of.

    Row j of class c adds v_j (1 − (|q − x_j|² − |x_j − s_c|²) / mean r²) to the residual's 1 − r_c² / mean r².
    """
    terms = coded.terms.astype(np.float64)
    shares = terms / terms.sum()
    squares = filled(squares[np.newaxis])[0].astype(np.float64)
    mean = squares.mean()
    allowed = members[:, 0] >= 0
    picked = members[allowed]
    points = coded.rows[picked].astype(np.float64)
    sums = np.einsum("t,ctf->cf", shares, points)
    gaps = np.square(points - query).sum(axis=2) - np.square(points - sums[:, np.newaxis]).sum(axis=2)
    gaps += (squares[allowed] - gaps @ shares)[:, np.newaxis]  # rounded as in the score
    parts = shares * (1 - gaps / mean) if mean > 0 else np.zeros_like(gaps)
    rows, places = np.unique(np.concatenate([voters, picked.ravel()]), return_inverse=True)
    n_votes = len(voters)
    votes = np.bincount(places[:n_votes], terms * coded.weight[voters], len(rows)).astype(np.float64)
    residuals = np.bincount(places[n_votes:], parts.ravel(), len(rows)).astype(np.float64)
    rest = np.where(allowed, 0.0, 1 - squares / mean if mean > 0 else 0.0)
    return Evidence(rows, votes, residuals, rest)


def explain_rows(
    answers: Answers,
    X: NDArray[np.floating],
    representatives: NDArray[np.int64],
    landmark_rows: NDArray[np.int64] | None,
    classes: NDArray[Any],
) -> list[StackedExplanation]:
    """One explanation for each query; ``landmark_rows`` where those of the linear head are asked for."""
    coded, (by_vote, by_residual, by_line) = answers.coded, answers.stack
    seen = answers.look_at(X)
    codes, lines = seen.codes, by_line * seen.lines.astype(np.float64)
    explanations = []
    for i, query in enumerate(seen.mapped):
        found = weigh_rows(coded, query, codes.voters[i], codes.members[i], codes.squares[i])
        distances = np.linalg.norm(coded.rows[found.rows].astype(np.float64) - query, axis=1)
        order = np.argsort(distances, kind="stable")
        votes, residuals = by_vote * found.votes[order], by_residual * found.residuals[order]
        others = lines[i] + by_residual * found.rest
        total = votes.sum() + residuals.sum() + others.sum()
        terms = None
        if landmark_rows is not None:
            terms = by_line * seen.kernel[i, :, np.newaxis].astype(np.float64) * answers.linear
        explanations.append(
            StackedExplanation(
                representatives[coded.order[found.rows[order]]],
                distances[order],
                votes,
                residuals,
                classes[coded.classes[found.rows[order]]],
                lines[i],
                others - total / len(classes),
                landmark_rows,
                terms,
                classes,
            )
        )
    return explanations
