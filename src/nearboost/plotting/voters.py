"""Who voted on one row: their pictures, or their features, and how much each adds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import check_whole, plain
from nearboost.boosting.knn import KNNClassifier
from nearboost.models.explanation import score_about, voters_about
from nearboost.plotting.canvas import AGAINST, FOR, QUIET, dense_rows, find_axes, one_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 0.35  # between the row and its voters, in pictures


class VotersDisplay:
    """A row and the training rows that voted on it, the strongest first.

    Votes for the class asked about are blue, votes against it orange. Rows are drawn as pictures where they are
    some, else as lines over their features. All are drawn on one scale. It is best made by `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    item : array-like of shape (n_features,), (height, width) or (height, width, n_channels)
        The row, or its picture, of 1, 3 or 4 channels.
    voters : sequence of array-like
        The same of each voter.
    votes : array-like of shape (n_voters,)
        What each says: above 0 for the class, below 0 against it.
    labels : sequence of str or None, default=None
        What each voter is called.
    about : str or None, default=None
        The class that is asked about.
    score : float or None, default=None
        Its score, to be told.
    rest : float or None, default=None
        What voters that are not shown, and an intercept, add to the score; None where votes do not add up to it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes within which all are drawn.
    figure_ : matplotlib Figure
        Figure with these axes.
    panels_ : list of matplotlib Axes
        Axes of the row and of each voter.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import N3Classifier
    >>> from nearboost.plotting import VotersDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = N3Classifier(n_prototypes=0.1).fit(X[::2], y[::2])
    >>> display = VotersDisplay.from_estimator(model, X[1], X[::2], y[::2], shape=(8, 8))
    >>> display.about, display.labels
    ('1', ['1', '1', '1'])
    """

    ax_: "Axes"
    figure_: "Figure"
    panels_: "list[Axes]"

    def __init__(
        self,
        item: ArrayLike,
        voters: Sequence[ArrayLike],
        votes: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
        about: str | None = None,
        score: float | None = None,
        rest: float | None = None,
    ) -> None:
        self.item, self.voters = np.asarray(item), [np.asarray(voter) for voter in voters]
        self.votes = np.asarray(votes, dtype=np.float64)
        self.labels = None if labels is None else list(labels)
        self.about, self.score, self.rest = about, score, rest
        for name, given in (("votes", self.votes), ("labels", self.voters if labels is None else labels)):
            if len(given) != len(self.voters):
                raise ValueError(f"There are {len(given)} {name} of {len(self.voters)} voters; give one of each.")
        for thing in (self.item, *self.voters):
            if thing.ndim not in (1, 2) and (thing.ndim != 3 or thing.shape[2] not in (1, 3, 4)):
                raise ValueError(
                    f"A picture has shape {thing.shape}; give (height, width), or that with 1, 3 or 4 channels."
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: ArrayLike,
        X: Any,
        y: ArrayLike | None = None,
        *,
        about: Any = None,
        images: Sequence[ArrayLike] | None = None,
        image: ArrayLike | None = None,
        shape: tuple[int, ...] | None = None,
        n_voters: int = 6,
        ax: Any = None,
    ) -> Self:
        """Draw who voted on one row.

        Where rows are no pictures, each feature is drawn from its least to its largest value in ``X``.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier that explains, or a pipeline that ends in one.
        x : array-like of shape (n_features,) or (1, n_features)
            The row that is asked about.
        X : array-like of shape (n_samples, n_features)
            Training rows, as given to `fit`.
        y : array-like of shape (n_samples,) or None, default=None
            Their classes, to be told under each voter.
        about : object or None, default=None
            The class that votes are for or against; None means the one that is predicted.
        images : sequence of array-like or None, default=None
            A picture of each training row.
        image : array-like or None, default=None
            A picture of ``x``, to go with ``images``.
        shape : tuple of int or None, default=None
            How a row becomes a picture, such as (8, 8), where it is made of pixels.
        n_voters : int, default=6
            How many voters to show.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        VotersDisplay
            The display, drawn.
        """
        check_whole("n_voters", n_voters)
        check_is_fitted(estimator)
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not hasattr(last, "explain"):
            raise ValueError(f"{type(last).__name__} has no voters to show; give a classifier with `explain`.")
        shown = _Shown.of(x, X, y, images, image, shape, n_voters)
        [explanation] = last.explain(estimator[:-1].transform(shown.row) if last is not estimator else shown.row)
        asked = estimator.predict(shown.row)[0] if about is None else about
        return cls._made(explanation, last, asked, shown).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        explanation: Any,
        x: ArrayLike,
        X: Any,
        y: ArrayLike | None = None,
        *,
        about: Any = None,
        images: Sequence[ArrayLike] | None = None,
        image: ArrayLike | None = None,
        shape: tuple[int, ...] | None = None,
        n_voters: int = 6,
        ax: Any = None,
    ) -> Self:
        """Draw who voted on one row, by what `explain` said of it.

        A vote is what a row adds to the score, for k-NN too, whose neighbours of other classes add nothing.

        Parameters
        ----------
        explanation : explanation
            What a classifier's `explain` says of the row.
        x : array-like of shape (n_features,) or (1, n_features)
            The row that is asked about.
        X : array-like of shape (n_samples, n_features)
            Training rows, as given to `fit`.
        y : array-like of shape (n_samples,) or None, default=None
            Their classes, to be told under each voter.
        about : object or None, default=None
            The class that votes are for or against; None means the one with the largest score.
        images : sequence of array-like or None, default=None
            A picture of each training row.
        image : array-like or None, default=None
            A picture of ``x``, to go with ``images``.
        shape : tuple of int or None, default=None
            How a row becomes a picture, such as (8, 8), where it is made of pixels.
        n_voters : int, default=6
            How many voters to show.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        VotersDisplay
            The display, drawn.
        """
        check_whole("n_voters", n_voters)
        if not hasattr(explanation, "classes"):
            raise ValueError(f"A {type(explanation).__name__} names no voters; give one of those of `explain`.")
        asked = about
        if about is None:
            scores = [score_about(explanation, code) for code in range(len(explanation.classes))]
            asked = explanation.classes[int(np.argmax(scores))]
        return cls._made(explanation, None, asked, _Shown.of(x, X, y, images, image, shape, n_voters)).plot(ax)

    @classmethod
    def _made(cls, explanation: Any, classifier: Any, asked: Any, shown: "_Shown") -> Self:
        if np.ndim(asked):
            raise ValueError("The model gives several labels to a row; say about which one.")
        classes = np.asarray(explanation.classes)
        [codes] = np.nonzero(classes == asked)
        if not len(codes):
            raise ValueError(f"The model has no class {plain(asked)}; its classes are {classes.tolist()}.")
        found, _, votes = voters_about(classifier, explanation, int(codes[0]))
        if len(found) and found.max() >= len(shown.X):
            raise ValueError(f"Row {found.max()} voted, and X has {len(shown.X)} rows; give the rows of the fit.")
        order = np.argsort(-np.abs(votes), kind="stable")[: shown.n_voters]
        item, voters = shown.drawn(found[order])
        score, strongest = score_about(explanation, int(codes[0])), votes[order]
        adds_up = hasattr(explanation, "total") and not isinstance(classifier, KNNClassifier)
        return cls(
            item,
            voters,
            strongest,
            labels=None if shown.y is None else [str(label) for label in shown.y[found[order]].tolist()],
            about=str(asked),
            score=score,
            rest=score - float(strongest.sum()) if adds_up else None,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the row and its voters.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : VotersDisplay
            The display, drawn.
        """
        n_panels = 1 + len(self.voters)
        axes = find_axes(ax, (1.15 * (n_panels + GAP), 1.9))
        axes.set_axis_off()
        width = 1 / (n_panels + GAP)
        lefts = [0.0, *((1 + GAP + i) * width for i in range(len(self.voters)))]
        self.panels_ = [axes.inset_axes((left + 0.05 * width, 0.25, 0.9 * width, 0.72)) for left in lefts]
        limits = _limits([self.item, *self.voters])
        said = "" if self.about is None else f"is it {self.about}?"
        _draw(self.panels_[0], self.item, limits, QUIET, said)
        for i, (panel, voter, vote) in enumerate(zip(self.panels_[1:], self.voters, self.votes, strict=True)):
            name = "" if self.labels is None else f"{self.labels[i]}\n"
            _draw(panel, voter, limits, FOR if vote > 0 else AGAINST if vote < 0 else QUIET, f"{name}{vote:+.3g}")
        if self.score is not None:
            parts = "" if self.rest is None else f"these {self.votes.sum():+.3g}, others {self.rest:+.3g}: "
            axes.set_title(f"{parts}score {self.score:+.3g}", fontsize="medium")
        self.ax_, self.figure_ = axes, axes.figure  # type: ignore[assignment]
        return self


class _Shown(NamedTuple):
    """The row that is asked about, training rows, and how they are drawn."""

    row: NDArray[Any]
    X: NDArray[Any]
    y: NDArray[Any] | None
    images: Any
    image: Any
    shape: tuple[int, ...] | None
    n_voters: int

    @classmethod
    def of(
        cls, x: Any, X: Any, y: Any, images: Any, image: Any, shape: tuple[int, ...] | None, n_voters: int
    ) -> "_Shown":
        row, rows = one_row(x), dense_rows("X", X)
        labels = None if y is None else np.asarray(y)
        _check_rows(rows, labels, images, image)
        return cls(row, rows, labels, images, image, shape, n_voters)

    def drawn(self, voters: NDArray[np.integer]) -> tuple[Any, list[Any]]:
        if self.images is not None:
            return self.image, [self.images[i] for i in voters.tolist()]
        item, *others = _as_drawn(self.X, [self.row[0], *self.X[voters]], self.shape)
        return item, others


def _check_rows(X: NDArray[Any], y: NDArray[Any] | None, images: Any, image: Any) -> None:
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; give a table of the training rows.")
    if y is not None and y.shape != (len(X),):
        raise ValueError(f"y has shape {y.shape}; give one label for each of {len(X)} rows.")
    if (images is None) != (image is None) or (images is not None and len(images) != len(X)):
        raise ValueError(f"Give images of all {len(X)} training rows and the image of x, or neither.")


def _as_drawn(X: NDArray[Any], rows: Sequence[Any], shape: tuple[int, ...] | None) -> list[Any]:
    """Rows as pictures, or with each feature on the scale that it has in X."""
    if shape is None:
        low, high = X.min(axis=0), X.max(axis=0)
        return [(row - low) / np.where(high > low, high - low, 1) for row in rows]
    if X.shape[1] != np.prod(shape):
        raise ValueError(f"A row has {X.shape[1]} values, which do not fill a picture of shape {shape}.")
    return [row.reshape(shape) for row in rows]


def _limits(things: Sequence[Any]) -> tuple[float, float]:
    """One scale for all, so that they can be compared."""
    low, high = min(float(np.min(one)) for one in things), max(float(np.max(one)) for one in things)
    return (low, high) if high > low else (low - 1, high + 1)


def _draw(panel: Any, thing: Any, limits: tuple[float, float], color: str, text: str) -> None:
    low, high = limits
    if thing.ndim == 3 and thing.shape[2] == 1:
        thing = thing[:, :, 0]
    if thing.ndim == 1:
        panel.plot(thing, color=color, linewidth=1)
        panel.set_ylim(low, high)
    elif thing.ndim == 2:
        panel.imshow(thing, cmap="gray", vmin=low, vmax=high)
    else:
        beyond = thing.dtype.kind == "f" and (low < 0 or high > 1)  # what colours of floats may be
        panel.imshow((thing - low) / (high - low) if beyond else thing)
    panel.set(xticks=[], yticks=[])
    panel.set_xlabel(text, color=color)
    for edge in panel.spines.values():
        edge.set(color=color, linewidth=2)
