"""Whether probabilities keep what they promise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from nearboost.base.validation import check_whole
from nearboost.measures.metrics import N_BINS, reliability
from nearboost.plotting.canvas import QUIET, find_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

IDEAL = "says what it reaches"
SMALLEST_DOT, LARGEST_DOT = 8.0, 220.0  # areas in square points


class ReliabilityDisplay:
    """How often answers of a given confidence are right.

    The confidence of an answer is the probability of the class it names. Answers are sorted into bins of equal
    width by their confidence; each bin is a dot whose area is its share of all answers. Dots below the diagonal
    promise too much, dots above it too little. It is best made by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    confidence : array-like of shape (n_bins,)
        Mean confidence of the answers in each bin.
    accuracy : array-like of shape (n_bins,)
        Share of right answers in each bin.
    counts : array-like of shape (n_bins,)
        Number of answers in each bin.
    name : str or None, default=None
        What the curve is called in the legend.

    Attributes
    ----------
    calibration_error_ : float
        Expected calibration error: the distance of the dots from the diagonal, averaged over all answers.
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure with the curve.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import N3Classifier
    >>> from nearboost.plotting import ReliabilityDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = N3Classifier(n_prototypes=0.1).fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> bool(display.calibration_error_ < 0.05)
    True
    >>> display.ax_.get_xlabel()
    'Confidence'
    """

    calibration_error_: float
    line_: "Line2D"
    ax_: "Axes"
    figure_: "Figure"

    def __init__(
        self, confidence: ArrayLike, accuracy: ArrayLike, counts: ArrayLike, *, name: str | None = None
    ) -> None:
        self.confidence = np.asarray(confidence, dtype=np.float64)
        self.accuracy = np.asarray(accuracy, dtype=np.float64)
        self.counts = np.asarray(counts, dtype=np.float64)
        self.name = name
        if not self.confidence.shape == self.accuracy.shape == self.counts.shape or not self.counts.sum() > 0:
            raise ValueError(
                f"There are {self.confidence.size} confidences, {self.accuracy.size} accuracies and counts of "
                f"{self.counts.sum():g} answers in {self.counts.size} bins; give one of each for each bin, and at "
                "least one answer."
            )
        gaps = np.abs(self.confidence - self.accuracy)
        self.calibration_error_ = float(np.average(gaps, weights=self.counts))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int = N_BINS,
        name: str | None = None,
        ax: Any = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw how reliable a fitted classifier is on some rows.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier, or a pipeline that ends in one, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Rows that it was not fitted to.
        y : array-like of shape (n_samples,)
            Their classes.
        n_bins : int, default=15
            Number of bins of equal width between 0 and 1.
        name : str or None, default=None
            What the curve is called in the legend; None means the class of the estimator.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line_kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict_proba; wrap it in CalibratedClassifierCV, or give "
                "another classifier."
            )
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            classes=estimator.classes_,
            n_bins=n_bins,
            name=name or type(estimator).__name__,
            ax=ax,
            **line_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        n_bins: int = N_BINS,
        name: str | None = None,
        ax: Any = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw how reliable some probabilities are.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True classes.
        y_proba : array-like of shape (n_samples, n_classes) or (n_samples,)
            Probabilities; one column is that of the second of two classes.
        classes : sequence or None, default=None
            Class of each column; None means those in ``y_true``, sorted.
        n_bins : int, default=15
            Number of bins of equal width between 0 and 1.
        name : str or None, default=None
            What the curve is called in the legend.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line_kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        check_whole("n_bins", n_bins)
        truth, chances = np.asarray(y_true), np.asarray(y_proba, dtype=np.float64)
        if truth.ndim != 1:
            raise ValueError(f"y has shape {truth.shape}; give one label for each row, or one column at a time.")
        if not len(truth):
            raise ValueError("There are no answers to show; give at least one label, and its probabilities.")
        known = np.unique(truth) if classes is None else np.asarray(classes)
        if {truth.dtype.kind, known.dtype.kind} <= set("biuf"):  # 1.0 is the class 1
            known, truth = (labels.astype(np.result_type(known, truth)) for labels in (known, truth))
        names = tuple(map(str, known))
        if chances.ndim == 1:
            chances = np.column_stack([1 - chances, chances])
        if chances.shape != (len(truth), len(names)):
            raise ValueError(
                f"The probabilities have shape {chances.shape}; give a row for each of {len(truth)} labels and a "
                f"column for each of {len(names)} classes."
            )
        if not (np.isfinite(chances).all() and chances.min() >= 0 and chances.max() <= 1):
            raise ValueError("The probabilities are not all between 0 and 1; give those of predict_proba.")
        said = np.array(names)[chances.argmax(axis=1)]
        confidence, accuracy, counts = zip(*reliability(truth, said, names, chances, n_bins), strict=True)
        return cls(confidence, accuracy, counts, name=name).plot(ax, **line_kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **line_kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        name : str or None, default=None
            What the curve is called in the legend, if not as before.
        **line_kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        self : ReliabilityDisplay
            The display, drawn.
        """
        axes = find_axes(ax, (4.8, 4.6))
        if IDEAL not in axes.get_legend_handles_labels()[1]:
            axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=":", label=IDEAL)
        called = name or self.name
        error = f"calibration error {self.calibration_error_:.3f}"
        settings = {"linewidth": 1.2, "label": f"{called}: {error}" if called else error, **line_kwargs}
        [self.line_] = axes.plot(self.confidence, self.accuracy, **settings)
        share = self.counts / self.counts.sum()
        axes.scatter(
            self.confidence,
            self.accuracy,
            s=SMALLEST_DOT + (LARGEST_DOT - SMALLEST_DOT) * share,
            color=self.line_.get_color(),
            alpha=0.75,
            zorder=3,
        )
        axes.set(xlabel="Confidence", ylabel="Share of right answers", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.set_aspect("equal")
        axes.legend(loc="upper left", fontsize="small", frameon=False)
        self.ax_, self.figure_ = axes, axes.figure  # type: ignore[assignment]
        return self
