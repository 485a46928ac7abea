"""The estimator that all boosted neighbours share: validate, search, train, vote."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassifierMixin

from nearboost.base.estimator import Estimator
from nearboost.base.rows import check_rows
from nearboost.base.validation import (
    check_choice,
    check_count_or_share,
    check_flag,
    check_positive,
    check_whole,
    is_share,
)
from nearboost.boosting.changing import Before, ChangingMixin
from nearboost.boosting.engine import ORACLES, StepRule
from nearboost.boosting.newton import ranking_width
from nearboost.boosting.queries import LeveragedVote
from nearboost.boosting.state import collect_boosted, restore_boosted
from nearboost.boosting.training import Outcome, Recipe, choose_n_neighbors, train
from nearboost.losses import get_loss
from nearboost.neighbors import (
    METRICS,
    Neighbors,
    check_graph,
    check_method,
    keep_rows,
    repair_graph,
)
from nearboost.problem.calibration import (
    Calibration,
    Probabilities,
    calibrate,
    doubt_of,
    exact_matches,
    warn_uncalibrated,
)
from nearboost.problem.held_out import deal_folds, find_seed, have_others, whole_groups
from nearboost.problem.targets import (
    ARGMAX,
    GivenRows,
    Labels,
    TrainingSet,
    count_outside,
    find_coding,
    has_one_each,
    number_groups,
    pose_problem,
    warn_of_one_each,
)
from nearboost.votes import VOTE_WEIGHTS, CodeVotes, PlainVotes, VoteRule


class LeveragedNeighborsClassifier(ChangingMixin, LeveragedVote, ClassifierMixin, Estimator):
    """Base of the boosted neighbours; each family adds its votes, its step rule and their parameters."""

    _multilabel = True  # whether a matrix of labels makes sense
    _calibrations: tuple[str | None, ...] = ("temperature", None)

    def _make_step_rule(self) -> StepRule:
        raise NotImplementedError

    def _make_vote_rule(self) -> VoteRule:
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        graph: tuple[ArrayLike, ArrayLike] | Neighbors | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn which examples vote, and how much.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float16, float32 or float64. They are copied and kept; a memory-mapped file is kept as
            it is and read in blocks, but of rows of weight 0 the others are copied into memory.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a 0/1 matrix with one column per label.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each sample's loss; 0 leaves the sample out.
        graph : Neighbors, tuple of two arrays, or None, default=None
            Precomputed neighbours, as returned by `NeighborSearch.graph`, or a pair (indices, distances) of arrays
            of shape (n_samples, at least n_neighbors), sorted by distance, with no sample among its own
            neighbours.
        groups : array-like of shape (n_samples,) or None, default=None
            Group labels of samples that belong together, such as frames of one track. Samples of one group never
            vote on each other in training and are held out together.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        self.check_parameters()
        X, y = check_rows(
            self,
            X,
            y,
            reset=True,
            accept_sparse=False,
            keep=True,
            order="C",
            multi_output=True,
            ensure_min_samples=2,
        )
        if issparse(y):
            y = y.toarray()
        given = GivenRows.of(X, y, sample_weight, groups)
        known = None if graph is None else self._check_graph(graph, number_groups(groups, len(X)))
        if known is not None and len(given.X) < len(X):
            known = keep_rows(known, given.kept)
        self._graph_given = known is not None
        posed = self._pose(given, known)
        warn_of_one_each(given.y)
        return self._train(*posed)

    def _pose(
        self, given: GivenRows, known: Neighbors | None = None, before: Before | None = None
    ) -> tuple[TrainingSet, NDArray[np.int64], Neighbors, int]:
        """The training set, which rows of the user's X it has, its graph and the number of neighbours that vote.

        The graph is ``known``, or repaired from one ``before``, or searched.
        """
        coding = find_coding(given.y)
        if coding.multilabel and not self._multilabel:
            cure = ARGMAX if has_one_each(given.y) else "use one_vs_all=True"
            raise ValueError(f"One weight for all classes needs one label per sample; {cure}.")
        if coding.multilabel and self.prototypes == "centroids":
            raise ValueError('Centroids are of classes and need one label per sample; use prototypes="examples".')
        data = pose_problem(given, coding, self.class_weight)
        self.classes_ = coding.classes
        self._remember(given)
        return data, given.kept, *self._find_neighbors(data, known, before)

    def _remember(self, given: GivenRows) -> None:
        """Keep what `_given` needs beside the training set."""
        self._given_weight = None if given.weight is None else given.weight.copy()  # it may be the caller's
        self._group_names = None if given.groups is None else np.unique(given.groups)
        left_out = np.empty(0, dtype=given.y.dtype)
        if given.weight is not None and given.y.ndim == 1:
            left_out = given.y[given.weight == 0]
        self._left_out_classes = np.searchsorted(self.classes_, left_out).astype(np.int32)

    def _check_graph(self, graph: tuple[ArrayLike, ArrayLike] | Neighbors, groups: NDArray[np.int32]) -> Neighbors:
        given = check_graph(graph, len(groups), 1 if self.n_neighbors == "auto" else int(self.n_neighbors))
        if np.any(groups[given.indices] == groups[:, np.newaxis]):
            raise ValueError("The graph joins samples of one group; leave these out of each other's lists.")
        return given

    def _find_neighbors(
        self, data: TrainingSet, given: Neighbors | None, before: Before | None = None
    ) -> tuple[Neighbors, int]:
        """The training graph and the number of neighbours that vote."""
        most = count_outside(data.groups) if given is None else given.indices.shape[1]
        if most < 1:
            raise ValueError("Some training sample has no neighbour outside its own group; use smaller groups.")
        if self.n_neighbors == "auto":
            wanted = max(k for k in self._make_vote_rule().candidates if k <= most)
        elif self.n_neighbors > most:
            of_others = "" if most == len(data.X) - 1 else " outside its group or in the graph"
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is too many for {len(data.X)} training samples: some sample has "
                f"only {most} others{of_others}; use {most} or fewer."
            )
        else:
            wanted = int(self.n_neighbors)
        recipe = self._recipe(len(data.X), data.labels, wanted)
        if recipe.n_prototypes is not None and not recipe.centroids:
            wanted = max(wanted, min(most, ranking_width(len(data.X), recipe.n_prototypes)))
        if given is None:
            search = recipe.build_search(data.X)
            if before is None:
                given = search.graph(wanted, data.groups, spare_columns=True)
            else:
                given = repair_graph(before.graph, before.X, before.stay, search, wanted, data.groups)
        if self.n_neighbors == "auto":
            return given, self._choose_neighbors(given, data, recipe)
        return given, int(self.n_neighbors)

    def _choose_neighbors(self, graph: Neighbors, data: TrainingSet, recipe: Recipe) -> int:
        return choose_n_neighbors(graph, data, recipe)

    def _train(self, data: TrainingSet, kept: NDArray[np.int64], graph: Neighbors, n_neighbors: int) -> Self:
        """Train on a known graph; ``kept`` maps its rows to those of the user's X."""
        recipe = self._recipe(len(data.X), data.labels, n_neighbors)
        needs_folds = self.calibration is not None or self.early_stopping
        folds, known = [], np.ones(len(data.X), dtype=bool)
        if needs_folds:
            groups = whole_groups(data.X, data.groups, self.n_jobs)
            folds = deal_folds(data.labels, groups, recipe.generator())
            if not data.labels.multilabel:  # from zero, whoever votes for a class has learned it from a third row
                known = have_others(data.labels.classes(), groups, 1 if recipe.start == "vote" else 2)
            if not folds and recipe.choose_rounds and recipe.start == "vote":
                recipe = replace(recipe, n_rounds=0)  # nobody can tell whether learning helps
        outcome = train(data, graph, recipe, folds, known)
        for name in [name for name in vars(self) if name.startswith("held_out_") or name == "exact_coefficients_"]:
            delattr(self, name)  # of an earlier fit
        warn_of_doubts(outcome, recipe)
        self._data, self._kept, self._labels = data, kept, data.labels
        self._vote_rule = outcome.voters.vote_rule
        self.n_neighbors_ = n_neighbors
        self.neighbors_ = graph.first(n_neighbors)
        self._graph = graph
        self._keep(outcome)
        self._calibrate(outcome)
        self._prepare_queries(outcome, recipe)
        return self

    def _keep(self, outcome: Outcome) -> None:
        """What was learned, as attributes."""
        self.prototypes_ = self._kept[outcome.prototypes]
        self.coefficients_ = self._present(outcome.learned.coefficients[outcome.prototypes])
        self.start_coefficient_ = outcome.learned.start_coefficient
        self.n_rounds_ = outcome.n_rounds
        self.history_ = [run.risk for run in outcome.learned.runs]

    def _present(self, coefficients: csr_array) -> Any:
        return coefficients

    def _calibrate(self, outcome: Outcome) -> None:
        """Temperature, held-out scores and accuracy from the held-out folds."""
        rows, scores = outcome.held_out_rows, outcome.held_out_scores
        labels, weight = self._data.labels.take(rows), self._data.weights.product[rows]
        calibration, self.intercept_ = self._uncalibrated(), np.zeros(labels.n_columns)
        if self.calibration == "temperature":
            if len(rows):
                calibration, self.intercept_ = calibrate(scores, labels, weight * outcome.known, may_bend=True)
            else:
                warn_uncalibrated()
                calibration = Calibration(1.0, doubt_of(0), labels.multilabel)
        self._calibration, self.temperature_ = calibration, getattr(calibration, "temperature", 1.0)
        if not len(rows) and self.calibration is None:
            return
        scores = scores + self.intercept_
        self.held_out_risk_ = outcome.held_out_risk
        right = exact_matches(scores, labels)[outcome.known]
        self.held_out_accuracy_ = float(right.mean()) if outcome.is_judged else np.nan
        self.held_out_rows_ = self._kept[rows]
        self.held_out_scores_ = csr_array(scores)

    def _uncalibrated(self) -> Probabilities:
        """Scores as probabilities without held-out rows."""
        return Calibration(1.0, multilabel=self._labels.multilabel)

    def _prepare_queries(self, outcome: Outcome, recipe: Recipe) -> None:
        """Everything a query needs: what is searched, who may vote, and what voters add to scores."""
        data = self._data
        from_prototypes = recipe.vote_from == "prototypes"
        searched = outcome.prototypes if from_prototypes else slice(None)
        self._searched_rows = self._kept[searched]
        silent_rest = not from_prototypes and recipe.n_prototypes is not None
        self._may_vote = outcome.prototypes if silent_rest else None
        self._voter_labels = data.labels.take(searched)
        self._start = self.start_coefficient_ * outcome.voters.weight[searched]
        self._prior = data.labels.shares(data.weights.product)
        coefficients = outcome.learned.coefficients[searched]
        self._leverage = recipe.rule.leverage(coefficients, self._voter_labels, self._start, self._prior)
        self._search = recipe.build_search(outcome.voters.standing(searched)) if len(self._searched_rows) else None
        self._of_centroids = recipe.centroids and recipe.n_prototypes is not None

    @property
    def _holds_training_rows(self) -> bool:
        """Whether a model file keeps all training rows and their graph: where all of them vote on queries."""
        return hasattr(self, "_data") and len(self._searched_rows) == len(self._data.X) and not self._of_centroids

    def model_state(self) -> dict[str, Any]:
        """What a model file keeps."""
        return collect_boosted(self) if hasattr(self, "_leverage") else {}

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Make everything else from what a model file keeps."""
        restore_boosted(self, state)

    def _restore_step_rule(self) -> StepRule:
        """The rule that says what coefficients mean."""
        return self._make_step_rule()

    def _restore_calibration(self, kind: str, uniform_share: float, bend: float) -> Probabilities:
        return Calibration(self.temperature_, uniform_share, self._labels.multilabel, bend)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        if not isinstance(self.n_neighbors, str) or self.n_neighbors != "auto":
            check_whole("n_neighbors", self.n_neighbors, hint='"auto"')
        check_whole("n_rounds", self.n_rounds, least=0, optional=True)
        check_count_or_share("n_prototypes", self.n_prototypes)
        check_choice("metric", self.metric, METRICS)
        check_method("search", self.search, self.metric)
        check_choice("prototypes", self.prototypes, ("examples", "centroids"))
        check_choice("vote_from", self.vote_from, ("auto", "prototypes", "all"))
        if self.prototypes == "centroids" and self.vote_from == "all":
            raise ValueError('Centroids are none of the rows; with prototypes="centroids" use vote_from="auto".')
        check_positive("memory", self.memory, optional=True)
        check_flag("early_stopping", self.early_stopping)
        check_choice("calibration", self.calibration, self._calibrations)

    def _rounds(self, n_rows: int, n_classes: int) -> int:
        return default_rounds(n_rows, n_classes) if self.n_rounds is None else self.n_rounds

    def _recipe(self, n_rows: int, labels: Labels, n_neighbors: int) -> Recipe:
        keep = self.n_prototypes
        if is_share(keep):
            keep = max(2, round(keep * n_rows))
        vote_from = self.vote_from
        if vote_from == "auto":  # queries see the prototypes alone only where the weights were learned for that
            vote_from = "all" if keep is None else "prototypes"
        return Recipe(
            rule=self._make_step_rule(),
            loss=get_loss(self.loss),
            n_neighbors=n_neighbors,
            n_rounds=self._rounds(n_rows, labels.n_classes),
            n_prototypes=None if keep is None else min(keep, n_rows),
            centroids=self.prototypes == "centroids",
            vote_rule=self._make_vote_rule(),
            start=self.start,
            metric=self.metric,
            search=self.search,
            vote_from=vote_from,
            early_stopping=self.early_stopping,
            choose_rounds=self.n_rounds is None,
            random_state=find_seed(self.random_state),
            draws_at_random=self.oracle == "random",
            memory=self.memory,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._multilabel
        return tags


def warn_of_doubts(outcome: Outcome, recipe: Recipe) -> None:
    """Say what makes the answers of a fitted classifier doubtful."""
    from_few = recipe.vote_from == "prototypes"
    n_kept, n_held_out = len(outcome.prototypes), len(outcome.held_out_rows)
    doubts = []
    if not n_kept and (from_few or not outcome.learned.start_coefficient):
        doubts.append(
            f"No example was given a weight in {outcome.n_rounds} rounds, so every row gets the same answer; "
            "give n_rounds, or check that rows of one class are among each other's neighbours."
        )
    elif n_held_out and not outcome.is_judged:
        doubts.append(
            f"Only {outcome.n_reached} of {n_held_out} held-out rows had a voter with a weight that is no copy of "
            "theirs, and others of their class, so the held-out accuracy is unknown (NaN) and rounds chosen "
            "by them say little; use more neighbours, more samples of a class or more groups, or give n_rounds."
        )
    if from_few and recipe.n_prototypes is None and recipe.start == "vote":
        doubts.append(
            'vote_from="prototypes" without n_prototypes lets queries see other voters than learning did; '
            'give n_prototypes, or use start="zero" as published.'
        )
    if 0 < n_kept <= recipe.n_neighbors and from_few and recipe.vote_rule.alike:
        doubts.append(
            f"n_neighbors={recipe.n_neighbors} lets all {n_kept} prototypes vote on every query alike; use fewer "
            "neighbours."
        )
    for doubt in doubts:
        warnings.warn(doubt, UserWarning, stacklevel=4)  # of whoever called fit or prune


def default_rounds(n_rows: int, n_classes: int) -> int:
    """The most rounds per class when none are given: T = O(m/C), as the N3 paper recommends."""
    return max(10, -(-2 * n_rows // n_classes))


class WeightPerClass(LeveragedNeighborsClassifier):
    """Base of UNN and N3, which learn one weight per example and class, one class against the rest at a time."""

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
