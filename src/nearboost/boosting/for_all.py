"""What MLNN and MAPBoost share: one weight per example for all classes, votes by a kernel."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nearboost.base.validation import check_choice, check_flag, check_positive
from nearboost.boosting.base import LeveragedNeighborsClassifier, default_rounds
from nearboost.boosting.edges import EdgeRule
from nearboost.boosting.engine import StepRule
from nearboost.boosting.training import Outcome
from nearboost.votes import KernelVotes

FAINT = 1e-3


class WeightForAll(LeveragedNeighborsClassifier):
    """All classes at once, or with ``one_vs_all`` one at a time by the same algorithm with C = 2."""

    # As published; there is nothing to choose.
    loss = "exp"
    start = "zero"
    oracle = "delta"
    _normalised: bool  # whether scores are shares of what was said

    @property
    def _multilabel(self) -> bool:  # type: ignore[override]
        return bool(self.one_vs_all)

    def _make_step_rule(self) -> StepRule:
        alike = self._make_vote_rule().alike
        return EdgeRule(self.one_vs_all, alike, self.smoothing == "always", self._normalised)

    def _rounds(self, n_rows: int, n_classes: int) -> int:
        if self.n_rounds is not None:
            return int(self.n_rounds)
        if self.one_vs_all:  # from zero, each class has all rows to cover
            return default_rounds(n_rows, min(n_classes, 10))
        return default_rounds(n_rows, 1)

    def _present(self, coefficients: csr_array) -> Any:
        return coefficients if self.one_vs_all else coefficients.toarray().ravel()

    def _keep(self, outcome: Outcome) -> None:
        super()._keep(outcome)
        self.diagnostics_ = [course.diagnostics for course in outcome.learned.courses]
        rule = self._vote_rule
        if not isinstance(rule, KernelVotes):
            return
        self.sigma_ = rule.sigma
        strongest = rule.in_training(self.neighbors_).max(axis=1)
        if np.median(strongest) < FAINT * strongest.max():
            warnings.warn(
                "On most rows even the strongest vote is less than a thousandth of that on others, which boosting "
                "from the largest step cannot use; widen the kernel (sigma) or use 'adaptive'.",
                UserWarning,
                stacklevel=5,
            )

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag("one_vs_all", self.one_vs_all)
        check_choice("smoothing", self.smoothing, ("always", "one_sided"))

    def _check_sigma(self, kernel: Any) -> None:
        if isinstance(self.sigma, str):
            check_choice("sigma", self.sigma, ("sqrt", None))
        else:
            check_positive("sigma", self.sigma, optional=True)
        if self.sigma is None or kernel == "adaptive":
            return
        if kernel != "gaussian" or self.sigma == "sqrt":
            raise ValueError(
                f"sigma={self.sigma!r} has no meaning here: a number is the width of 'gaussian' or a multiple of "
                "that of 'adaptive', and 'sqrt' a width of 'adaptive'; leave it None otherwise."
            )
