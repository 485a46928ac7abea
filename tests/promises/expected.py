"""Promises that are made up to rounding, and those that are not made everywhere, and why.

Each reason is put to the test: what it says is taken away, or the last digits are, and the promise holds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import nearboost as nb
from nearboost import features as nf
from nearboost.features.embedding import Network
from promises import checks
from promises.subjects import Subject, network


@dataclass(frozen=True)
class Failure:
    """Why a promise does not hold; it does for ``without_it(subject)``, up to ``within``."""

    reason: str
    within: float = 0.0
    without_it: Callable[[Subject], Subject] = lambda subject: subject


def with_settings(**settings: Any) -> Callable[[Subject], Subject]:
    return lambda subject: replace(subject, make=lambda: subject.make().set_params(**settings))


class Reconstruction(nb.INNCoder):
    """The sums of rows that codes stand for, instead of the codes."""

    def transform(self, X: Any) -> Any:
        return self.reconstruct(super().transform(X))


SUMS = "sums over rows are taken in their order, and rounded"
FOLDS = "held-out folds, by which probabilities and settings are chosen, are drawn by row number; " + SUMS
STEPS = "rows are held out, and taken one batch after the other, in an order drawn by row number; " + SUMS
FIRST_ONES = "words or Gaussians start from rows drawn by row number"

without_folds = with_settings(calibration=None)
one_batch = {"step": 0.5, "batch_size": 1000, "hessian_samples": 1000, "max_passes": 20}
few = with_settings(n_components=1)

PRODUCTS = {  # the matrix library adds up in another order for another number of rows
    "NearBoostClassifier": 1e-12,
    "CRCClassifier": 1e-12,
    "SLNDClassifier": 1e-12,
    "LinearSGDClassifier": 1e-12,
    "INNProjection": 1e-12,
    "LPP": 1e-12,
    "SRLP": 1e-12,
    "ITML": 1e-12,
    "SoftDiscriminant": 1e-12,
    "LandmarkMap": 1e-12,
    "WhitenedPCA": 1e-5,  # answers in float32
    "DiagonalGMM": 1e-5,
}
ROUNDED: dict[checks.Check, dict[str, float]] = {  # the promise of all others is to the last bit
    checks.check_batches: PRODUCTS,
    checks.check_permuted_queries: {"NearBoostClassifier": 1e-12},
    checks.check_permuted_rows: {  # sums over rows are taken in their order
        "SRCClassifier": 1e-12,
        "CRCClassifier": 1e-12,
        "INNProjection": 1e-10,
        "LPP": 1e-10,
        "SRLP": 1e-10,
        "SoftDiscriminant": 1e-12,
    },
    checks.check_explanations: {  # the weights of an explanation are sorted, those of a score added as they come
        "NearBoostClassifier": 1e-5,  # and in float32
        "INNClassifier": 1e-12,
        "SRCClassifier": 1e-12,
        "KNNClassifier": 1e-12,  # shares of votes, divided one by one
    },
}
EXPECTED: dict[checks.Check, dict[str, Failure]] = {
    checks.check_permuted_rows: {
        "N3Classifier": Failure(FOLDS, 1e-10, without_folds),
        "UNNClassifier": Failure(FOLDS, 1e-10, without_folds),
        "MLNNClassifier": Failure(FOLDS, 1e-10, without_folds),
        "MAPBoostClassifier": Failure(FOLDS, 1e-10, without_folds),
        "SplitClassifier": Failure(FOLDS, 1e-10, with_settings(estimator__calibration=None)),
        "SLNDClassifier": Failure(STEPS, 1e-10, with_settings(rank=6, damping=0.01, **one_batch)),
        "LinearSGDClassifier": Failure(STEPS, 1e-10, with_settings(**one_batch)),
        "INNCoder": Failure(
            "the columns of its codes are the training rows", 1e-12, lambda s: replace(s, make=Reconstruction)
        ),
        "ITML": Failure(
            "pairs of rows are drawn by row number",
            1e-8,
            with_settings(gamma=1e-3, n_constraints=10**6, bounds=(1, 20), tol=1e-7),
        ),
        "DiagonalGMM": Failure(FIRST_ONES, 1e-4, few),
        "FisherVector": Failure(FIRST_ONES, 1e-4, few),
        "SIFTColorFisher": Failure(FIRST_ONES, 1e-4, few),
        "BagOfFeatures": Failure(FIRST_ONES, 1e-4, with_settings(n_words=1)),
        "SpatialPyramid": Failure(FIRST_ONES, 1e-4, with_settings(n_words=1)),
        "Nimble": Failure(SUMS, 1e-3),
    },
    checks.check_saved: {
        "Embedding": Failure(
            "the file holds the network itself instead of the path to it",
            without_it=lambda s: replace(s, make=lambda: nf.Embedding(Network.read(network()))),
        ),
    },
}
