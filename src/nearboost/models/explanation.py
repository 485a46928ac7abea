"""Who voted on an item, by name and with a sign: what speaks for a class and what against it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.image_set import ImageSet
from nearboost.base.rows import BYTES_AT_ONCE, RowSource
from nearboost.base.validation import float_type
from nearboost.boosting.knn import KNNClassifier
from nearboost.boosting.queries import Explanation
from nearboost.ensemble.explaining import StackedExplanation
from nearboost.inn.code_classifier import CodeExplanation
from nearboost.models.items import open_items
from nearboost.models.model import Model
from nearboost.models.prediction import label_names

MOST_CLASSES = 6  # of which the linear head is shown


@dataclass(frozen=True)
class Voter:
    """A training item and what it said.

    Attributes
    ----------
    row : its number in the training set
    name : what it is called
    label : its class
    vote : above 0 for the class that is asked about, below 0 against it
    distance : how far it is, where the classifier measures that
    """

    row: int
    name: str
    label: str
    vote: float
    distance: float | None


@dataclass(frozen=True)
class Vote:
    """The vote on one item.

    Attributes
    ----------
    name : what the item is called
    said : the class that the model says
    probability : of that class, where the classifier gives one
    about : the class that votes are for or against
    score : of that class; votes and what is said without voters add up to it, except for codes
    voters : the strongest first; some may have a vote of 0
    linear : what the linear head of NearBoost adds to each class, the largest first; empty for other classifiers
    note : that the item is unlike the training items, where it is
    meaning : what a vote and the score are
    by_centroids : whether voters are centroids, each told by the training item nearest to it
    """

    name: str
    said: str
    probability: float | None
    about: str
    score: float
    voters: list[Voter]
    linear: dict[str, float] = field(default_factory=dict)
    note: str = ""
    by_centroids: bool = False
    meaning: str = ""

    @property
    def balance(self) -> tuple[float, float]:
        """The sum of the votes for the class, and of those against it."""
        votes = np.array([voter.vote for voter in self.voters])
        return float(votes[votes > 0].sum()), float(votes[votes < 0].sum())

    def summary(self, most: int) -> str:
        """How many of those with a vote are among the first so many."""
        n_voters = sum(voter.vote != 0 for voter in self.voters)
        silent = len(self.voters) - n_voters
        shown = f"The {most} strongest of {n_voters} voters" if most < n_voters else f"All voters: {n_voters}"
        shown += f"; neighbours without a vote: {silent}" if silent else ""
        return shown + ("; centroids, each told by the item nearest to it" if self.by_centroids else "")


def explain(
    model: Model, rows: NDArray[Any], about: str | None = None, names: Sequence[str] | None = None
) -> list[Vote]:
    """The voters on some rows, for and against the class ``about``, or the one that the model says.

    Boosted neighbours and NearBoost: what each adds to the score of the class. Codes: the weight of a sample, and
    k-NN: the share of a neighbour, negative where it is of another class.
    """
    if not hasattr(model.last_step, "explain"):
        raise ValueError(
            f"{type(model.last_step).__name__} has no voters to show; fit nearboost, knn, unn, n3, mlnn, "
            "mapboost, innc or src."
        )
    if about is not None and about not in model.classes:
        raise ValueError(f"The model has no class {about!r}; use one of {', '.join(model.classes[:15])}.")
    predicted = model.predict_rows(rows)
    explanations = model.last_step.explain(model.before_last_step(rows))
    votes = []
    for i, explanation in enumerate(explanations):
        said = "+".join(label_names(predicted.labels[i], model.classes))
        likeliest = model.classes[int(np.argmax(predicted.labels[i]))] if predicted.labels.ndim == 2 else said
        asked = about or likeliest
        code = model.classes.index(asked)
        sure = None if predicted.probabilities is None else float(predicted.probabilities[i, code])
        votes.append(
            Vote(
                names[i] if names is not None else f"row {i}",
                said,
                sure if asked == said else None,
                asked,
                score_about(explanation, code),
                _voters(model, explanation, code),
                _linear_head(model, explanation),
                predicted.notes[i],
                getattr(model.last_step, "_of_centroids", False),
                meaning_of(model.last_step, explanation),
            )
        )
    return votes


def meaning_of(classifier: Any, explanation: Any) -> str:
    """What the votes of a classifier are, for and against, and what the score is."""
    if isinstance(classifier, KNNClassifier):
        return "A vote is a neighbour's share of all: for the class if it is of it; the score is the share for it."
    if isinstance(explanation, CodeExplanation):
        by_weights = getattr(classifier, "decision", "") == "weights"
        score = "the sum of these" if by_weights else "minus the distance between the item and the class's sum"
        vote = "A vote is a sample's weight in the code of the item: for the class if it is of it"
        return f"{vote}; the score is {score}."
    if isinstance(explanation, StackedExplanation):
        return "A vote is what a training item adds to the score of the class; the linear head adds the rest."
    return "A vote is what a neighbour adds to the score of the class; the largest score wins."


def _voters(model: Model, explanation: Any, code: int) -> list[Voter]:
    rows, distances, signed = voters_about(model.last_step, explanation, code)
    far = [None] * len(rows) if distances is None else distances.tolist()
    order = np.argsort(-np.abs(signed), kind="stable")
    return [_voter(model, int(rows[i]), float(signed[i]), far[i]) for i in order.tolist()]


def voters_about(
    classifier: Any, explanation: Any, code: int
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float64]]:
    """Training rows, their distances where these are known, and their votes for a class, by its number."""
    if isinstance(explanation, CodeExplanation):
        of_class = explanation.labels == explanation.classes[code]
        return explanation.samples, None, np.where(of_class, 1.0, -1.0) * np.abs(explanation.weights)
    signed = signed_votes(explanation, code)
    if isinstance(classifier, KNNClassifier):  # a share for another class is one against this
        signed = np.where(signed > 0, signed, -explanation.contributions.sum(axis=1))
    return explanation.prototypes, explanation.distances, signed


def score_about(explanation: Any, code: int) -> float:
    """The score of a class, by its number."""
    if isinstance(explanation, CodeExplanation):
        return float(explanation.scores[code])
    total = explanation.total()
    if len(total) == 1 and len(explanation.classes) == 2:
        return float(total[0] if code == 1 else -total[0])
    return float(total[code])


def signed_votes(explanation: Explanation | StackedExplanation, code: int) -> NDArray[np.float64]:
    """What each voter adds to the score of a class; one column stands for the second of two classes."""
    contributions = explanation.contributions
    if isinstance(
        explanation, StackedExplanation
    ):  # whose scores are 0 on average: what is for one is against all
        return contributions[:, code] - contributions.mean(axis=1)
    if contributions.shape[1] == 1 and len(explanation.classes) == 2:
        return contributions[:, 0] if code == 1 else -contributions[:, 0]
    return contributions[:, code]


def _linear_head(model: Model, explanation: Any) -> dict[str, float]:
    if not isinstance(explanation, StackedExplanation):
        return {}
    added = explanation.linear - explanation.linear.mean()
    return {model.classes[code]: float(added[code]) for code in np.argsort(-added, kind="stable")}


def _voter(model: Model, row: int, vote: float, distance: float | None) -> Voter:
    place = None if model.origins is None else model.origins.place(row)
    if model.origins is None or place is None:
        return Voter(row, f"row {row}", "", vote, distance)
    label = "+".join(label_names(model.origins.labels[place], model.classes))
    return Voter(row, str(model.origins.names[place]), label, vote, distance)


def explain_item(
    model: Model, item: str, *, row: int = 0, about: str | None = None
) -> tuple[Vote, NDArray[Any] | None]:
    """The vote on an image file, with the image's pixels; or on one row of a file of rows."""
    opened = open_items(model, [item])
    if model.features is not None and Path(item).is_dir():
        raise ValueError(f"{item} is a folder; give one image to explain.")
    if model.features is None and row >= len(opened.items):
        raise ValueError(f"{item} has {len(opened.items)} rows, and row {row} is asked for; they count from 0.")
    if model.features is None:
        found = model.describe(_row_of(opened.items, row))
        [vote] = explain(model, found.rows, about, [opened.names[row]])
        return vote, None
    images = ImageSet(opened.items[:1], keep_pixels=True, masks=opened.masks)
    found = model.describe(images)
    if found.skipped:
        raise ValueError(found.skipped[0])
    [vote] = explain(model, found.rows, about, [opened.names[0]])
    return vote, images[0]


def _row_of(rows: RowSource, number: int) -> NDArray[Any]:
    """One row of a file that may have to be read up to there."""
    blocks = rows.blocks(BYTES_AT_ONCE)
    start, block = next((start, block) for start, block in blocks if number < start + len(block))
    return np.asarray(block[number - start : number - start + 1], dtype=float_type(rows.stored))


def as_lines(vote: Vote, most: int) -> list[str]:
    """The vote as text."""
    sure = "" if vote.probability is None else f" ({vote.probability:.1%})"
    in_favour, against = vote.balance
    wide = max([len(voter.label) for voter in vote.voters[:most]], default=0)
    lines = [
        f"Item: {vote.name}",
        f"Said: {vote.said}{sure}{f'; the item is {vote.note}' if vote.note else ''}",
        f"Votes about {vote.about}: {in_favour:+.4f} for, {against:+.4f} against, score {vote.score:+.4f}",
        vote.meaning,
        *_linear_lines(vote),
        vote.summary(most),
    ]
    for voter in vote.voters[:most]:
        far = "" if voter.distance is None else f"  distance {voter.distance:.4g}"
        lines.append(f"{voter.vote:+9.4f}  {voter.label:<{wide}}  {voter.name}{far}")
    return lines


def _linear_lines(vote: Vote) -> list[str]:
    """What the linear head says, of the class that is asked about and of the others it is most for."""
    first = dict.fromkeys([vote.about, *vote.linear])
    shown = [f"{name} {vote.linear[name]:+.4f}" for name in list(first)[:MOST_CLASSES] if name in vote.linear]
    return [f"The linear head adds: {', '.join(shown)}"] if shown else []
