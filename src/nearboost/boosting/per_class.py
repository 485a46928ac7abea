"""What UNN and N3 share: one weight per example and class, votes by rank or distance."""

from nearboost.base.validation import check_choice, check_positive, check_whole
from nearboost.boosting.base import LeveragedNeighborsClassifier
from nearboost.boosting.engine import ORACLES
from nearboost.votes import VOTE_WEIGHTS, CodeVotes, PlainVotes, VoteRule


class WeightPerClass(LeveragedNeighborsClassifier):
    """One class against the rest at a time; `UNNClassifier` and `N3Classifier` add losses and step rules."""

    _losses: tuple[str, ...]

    def _make_vote_rule(self) -> VoteRule:
        if self.vote_weights == "inn":
            return CodeVotes(self.metric, self.n_jobs)
        return PlainVotes(self.vote_weights)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("loss", self.loss, self._losses)
        check_choice("vote_weights", self.vote_weights, (*VOTE_WEIGHTS, "inn"))
        check_choice("start", self.start, ("zero", "vote"))
        check_positive("learning_rate", self.learning_rate)
        check_choice("oracle", self.oracle, ORACLES)
        check_whole("min_reverse_neighbors", self.min_reverse_neighbors)
