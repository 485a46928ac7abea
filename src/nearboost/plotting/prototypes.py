"""What is lost with fewer prototypes, and what each round of boosting brings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import check_choice, check_whole
from nearboost.plotting.canvas import QUIET, find_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SHARES = (0.02, 0.05, 0.1, 0.2, 0.5)
ALONG = {"prototypes": ("Prototypes kept", "Accuracy"), "rounds": ("Rounds", "Risk, of that before learning")}


class PrototypeDisplay:
    """What a boosted classifier reaches with so many prototypes, or after so many rounds.

    All of it comes from one fitted model. Along prototypes, the model is pruned to each number and the accuracy of
    held-out rows is drawn, beside that of other rows if some are given. Along rounds, the risk after each round is
    drawn of training rows and of held-out rows, both as shares of the risk before the first round, and the round
    that was chosen is marked. It is best made by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    steps : array-like of shape (n_steps,)
        Numbers of prototypes or rounds.
    curves : dict of str to array-like of shape (n_steps,)
        Values of each curve by its name; NaN where there is none.
    along : {"prototypes", "rounds"}, default="prototypes"
        What steps are.
    chosen : int or None, default=None
        The step to be marked.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        Curves by name.
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure with the curves.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import N3Classifier
    >>> from nearboost.plotting import PrototypeDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = N3Classifier().fit(X[::2], y[::2])
    >>> display = PrototypeDisplay.from_estimator(model, X[1::2], y[1::2], n_prototypes=[0.05, 0.1, 0.2])
    >>> display.steps, list(display.curves)
    (array([ 45,  90, 180]), ['held-out rows', 'other rows'])
    """

    lines_: "dict[str, Line2D]"
    ax_: "Axes"
    figure_: "Figure"

    def __init__(
        self,
        steps: ArrayLike,
        curves: Mapping[str, ArrayLike],
        *,
        along: str = "prototypes",
        chosen: int | None = None,
    ) -> None:
        check_choice("along", along, ALONG)
        self.steps = np.asarray(steps)
        self.curves = {name: np.asarray(curve, dtype=np.float64) for name, curve in curves.items()}
        self.along, self.chosen = along, chosen
        for name, curve in self.curves.items():
            if curve.shape != self.steps.shape:
                raise ValueError(f"The curve {name!r} has {curve.size} values for {self.steps.size} steps.")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        along: str = "prototypes",
        n_prototypes: Sequence[int | float] = SHARES,
        ax: Any = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw the path of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted boosted classifier: N3, UNN, MLNN or MAPBoost.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Other rows, to be judged beside the held-out ones; only along prototypes.
        y : array-like of shape (n_samples,) or None, default=None
            Their classes.
        along : {"prototypes", "rounds"}, default="prototypes"
            What goes along the axis.
        n_prototypes : sequence of int or float, default=(0.02, 0.05, 0.1, 0.2, 0.5)
            Numbers of prototypes to prune to, or shares of the training rows.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line_kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        PrototypeDisplay
            The display, drawn.
        """
        check_choice("along", along, ALONG)
        check_is_fitted(estimator)
        if not hasattr(estimator, "prune"):
            raise ValueError(
                f"{type(estimator).__name__} cannot be pruned; give N3Classifier, UNNClassifier, MLNNClassifier "
                "or MAPBoostClassifier."
            )
        if (X is None) != (y is None):
            raise ValueError("Rows and their classes come together: give both X and y, or neither.")
        if along == "prototypes":
            return cls(*_pruned(estimator, X, y, n_prototypes)).plot(ax, **line_kwargs)
        if X is not None:
            raise ValueError('along="rounds" shows the rows of the fit; leave X and y away.')
        steps, curves = _risks(estimator)
        return cls(steps, curves, along=along, chosen=estimator.n_rounds_).plot(ax, **line_kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: Mapping[int, ArrayLike],
        *,
        name: str = "other rows",
        ax: Any = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw the accuracy of models of different sizes, by what they answered.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True classes.
        y_pred : dict of int to array-like of shape (n_samples,)
            Answers of each model, by the number of its prototypes.
        name : str, default="other rows"
            What the curve is called in the legend.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line_kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        PrototypeDisplay
            The display, drawn.
        """
        if not isinstance(y_pred, Mapping) or not y_pred:
            raise ValueError("Give y_pred as a dict: the answers of each model, by the number of its prototypes.")
        steps = sorted(y_pred)
        for step in steps:
            check_whole("a number of prototypes", step)
        curve = [accuracy_score(y_true, y_pred[step]) for step in steps]
        return cls(steps, {name: curve}).plot(ax, **line_kwargs)

    def plot(self, ax: Any = None, **line_kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line_kwargs : dict
            Passed to matplotlib's `plot`.

        Returns
        -------
        self : PrototypeDisplay
            The display, drawn.
        """
        axes = find_axes(ax, (5.6, 3.8))
        by_number = self.along == "prototypes"
        settings = {"marker": "o" if by_number else None, "linewidth": 1.6, **line_kwargs}
        self.lines_ = {}
        for name, curve in self.curves.items():
            alone = {"marker": "o"} if np.isfinite(curve).sum() == 1 else {}
            [self.lines_[name]] = axes.plot(self.steps, curve, **{"label": name, **settings, **alone})
        if self.chosen is not None:
            axes.axvline(self.chosen, color=QUIET, linestyle=":", label=f"chosen: {self.chosen:,}")
        across, up = ALONG[self.along]
        axes.set(xlabel=across, ylabel=up)
        if by_number:
            axes.set_xscale("log")
            axes.set_xticks(self.steps, [f"{step:,}" for step in self.steps.tolist()])
            axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
        self.ax_, self.figure_ = axes, axes.figure  # type: ignore[assignment]
        return self


def _pruned(
    estimator: Any, X: Any, y: ArrayLike | None, n_prototypes: Sequence[int | float]
) -> tuple[list[int], dict[str, list[float]]]:
    if np.ndim(n_prototypes) != 1 or not len(n_prototypes):
        raise ValueError(
            f"n_prototypes={n_prototypes!r} must be a list of numbers or shares, such as (0.05, 0.1, 0.2)."
        )
    models = [estimator.prune(n) for n in n_prototypes]
    models.sort(key=lambda model: len(model.voters_))
    curves = {"held-out rows": [getattr(model, "held_out_accuracy_", np.nan) for model in models]}
    if X is not None:
        curves["other rows"] = [model.score(X, y) for model in models]
    return [len(model.voters_) for model in models], curves


def _risks(estimator: Any) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Risks before the first round and after each, as shares of the first; a class that stopped stays put."""
    runs = [np.asarray(run, dtype=np.float64) for run in estimator.history_]
    longest = max(map(len, runs))
    paths = {"training rows": np.sum([np.pad(run, (0, longest - len(run)), mode="edge") for run in runs], axis=0)}
    if getattr(estimator, "held_out_risk_", None) is not None:
        paths["held-out rows"] = np.asarray(estimator.held_out_risk_, dtype=np.float64)
    n_steps = max(map(len, paths.values()))
    curves = {
        name: np.pad(path / path[0], (0, n_steps - len(path)), constant_values=np.nan)
        for name, path in paths.items()
    }
    return np.arange(n_steps), curves
