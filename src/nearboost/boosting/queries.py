"""What a fitted classifier answers: scores, classes, probabilities, and who voted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import validate_rows
from nearboost.boosting.engine import Leverage
from nearboost.losses import get_loss
from nearboost.neighbors import Neighbors, NeighborSearch
from nearboost.problem.calibration import Probabilities, leading_class, two_sided
from nearboost.problem.classifier import RankingClassifierMixin
from nearboost.problem.targets import Labels
from nearboost.votes import VoteRule, Votes, cast_votes

_BLOCK_ENTRIES = 4_000_000  # scores at a time when predicting, so that memory stays bounded


@dataclass(frozen=True)
class Explanation:
    """The vote on one row.

    Attributes
    ----------
    prototypes : ndarray of shape (n_voters,)
        Training rows that voted, nearest first; for a centroid, the row nearest to it.
    distances : ndarray of shape (n_voters,)
        Distance of each voter; of a centroid, not of the row nearest to it.
    votes : ndarray of shape (n_voters,)
        Weight b that each voter has by its rank or distance.
    contributions : ndarray of shape (n_voters, n_columns)
        What each voter adds to each class's score (one column for two classes).
    intercept : ndarray of shape (n_columns,)
        What is added to each class's score at the end.
    classes : ndarray of shape (n_classes,)
        Class labels.
    """

    prototypes: NDArray[np.int64]
    distances: NDArray[np.float64]
    votes: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercept: NDArray[np.float64]
    classes: NDArray[Any]

    def total(self) -> NDArray[np.float64]:
        """The score: contributions added one by one, nearest voter first, then the intercept.

        In this order the floating-point sum equals `decision_function` to the last bit.

        Returns
        -------
        ndarray of shape (n_columns,)
            Score of each class.
        """
        score = np.zeros(self.contributions.shape[1])
        for contribution in self.contributions:
            score = score + contribution
        return score + self.intercept


class LeveragedVote(RankingClassifierMixin):
    """Queries of a fitted classifier; `LeveragedNeighborsClassifier` fits what is declared here."""

    loss: str
    n_neighbors_: int
    held_out_scores_: Any
    intercept_: NDArray[np.float64]
    _labels: Labels
    _calibration: Probabilities
    _leverage: Leverage
    _search: NeighborSearch | None
    _searched_rows: NDArray[np.int64]
    _may_vote: NDArray[np.int64] | None
    _vote_rule: VoteRule

    @property
    def _answers_several(self) -> bool:
        return self._labels.multilabel

    @property
    def voters_(self) -> NDArray[np.int64]:
        """Training rows among which a query finds its voters."""
        check_is_fitted(self)
        return self._searched_rows

    @property
    def held_out_proba_(self) -> NDArray[np.float64]:
        """Probabilities of the held-out rows, from their held-out scores."""
        return self._calibration.probabilities(self.held_out_scores_.toarray())

    def _decisions_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if scores.shape[1] > 1 or self._labels.multilabel else scores.ravel()

    def class_posteriors(self, X: ArrayLike) -> NDArray[np.float64]:
        """The papers' posteriors f(H_c), one per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Posteriors, not normalised over the classes.
        """
        check_is_fitted(self)
        transfer = get_loss(self.loss).transfer
        raw = (scores - self.intercept_ for scores in self._score_blocks(X))
        return np.concatenate([transfer(h if self._labels.multilabel else two_sided(h)) for h in raw])

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Who voted on each row, and how much.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Returns
        -------
        list of Explanation
            One per row; the contributions add up to `decision_function` exactly.
        """
        found, votes = self._vote(self._check_queries(X))
        explanations = []
        for row in range(votes.n_rows):
            part = slice(votes.indptr[row], votes.indptr[row + 1])
            ranks = np.isin(found.indices[row], votes.voters[part])
            contributions, silence = self._leverage.contributions(votes, row)
            explanations.append(
                Explanation(
                    self._searched_rows[votes.voters[part]],
                    found.distances[row][ranks],
                    votes.weights[part],
                    contributions,
                    silence + self.intercept_,
                    self.classes_,
                )
            )
        return explanations

    def _check_queries(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self)
        return validate_rows(self, X, dtype=[np.float32, np.float64], order="C", reset=False)

    def _vote(self, X: NDArray[np.floating]) -> tuple[Neighbors, Votes]:
        """The neighbours of some queries among the searched rows, and their votes."""
        n_voters = len(self._searched_rows)
        k = min(self.n_neighbors_, n_voters)
        if self._search is None:
            found, voters = Neighbors(np.empty((len(X), 0), dtype=np.int32), np.empty((len(X), 0))), X[:0]
        else:
            found, voters = self._search.search(X, k), self._search.rows.X
        votes = cast_votes(found, self._vote_rule.on_queries(found, X, voters), n_voters)
        return found, votes if self._may_vote is None else votes.only(self._may_vote)

    def _labels_from(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return (scores > 0).astype(int) if self._labels.multilabel else self.classes_[leading_class(scores)]

    def _probabilities_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._calibration.probabilities(scores)

    @property
    def _rows_at_once(self) -> int:
        return max(256, _BLOCK_ENTRIES // max(self._labels.n_columns, self.n_neighbors_))

    def _scores_of(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Scores with the intercept."""
        _, votes = self._vote(rows)
        return self._leverage.scores(votes) + self.intercept_
