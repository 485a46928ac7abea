"""A row as a weighted sum of samples: the weights as bars, or the way from sample to sample."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import check_choice, check_whole
from nearboost.inn.coder import INNCoder
from nearboost.plotting.canvas import AGAINST, FOR, QUIET, find_axes, one_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("bars", "path")
LARGEST_DOT = 240.0  # area in square points


class CodeDisplay:
    """The code of one row by iterative nearest neighbours.

    As bars: the weight of each sample, the heaviest first, coloured by class where classes are known. As a path,
    where rows have two features: the query starts at the row, and each step takes it away from the sample nearest
    to it, so that the next sample mends what is left over. It is best made by `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    samples : array-like of shape (n_terms,)
        Samples in the code, by number, heaviest first.
    weights : array-like of shape (n_terms,)
        Weight of each.
    labels : array-like of shape (n_terms,) or None, default=None
        Class of each.
    path : ndarray of shape (n_steps + 1, 2) or None, default=None
        Where the query is before each step, and after the last.
    taken : ndarray of shape (n_steps, 2) or None, default=None
        The sample taken at each step.
    among : ndarray of shape (n_samples, 2) or None, default=None
        All samples.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the code.
    figure_ : matplotlib Figure
        Figure with the code.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost import INNCoder
    >>> from nearboost.plotting import CodeDisplay
    >>> samples = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [9.0, 9.0]])
    >>> coder = INNCoder(0.5, coverage=0.9).fit(samples)
    >>> display = CodeDisplay.from_estimator(coder, [1.0, 2.2], kind="path")
    >>> display.samples.tolist(), display.path.shape
    ([2, 0, 1], (7, 2))
    """

    ax_: "Axes"
    figure_: "Figure"

    def __init__(
        self,
        samples: ArrayLike,
        weights: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        path: NDArray[np.float64] | None = None,
        taken: NDArray[np.float64] | None = None,
        among: NDArray[np.floating] | None = None,
    ) -> None:
        self.samples, self.weights = np.asarray(samples), np.asarray(weights, dtype=np.float64)
        self.labels = None if labels is None else np.asarray(labels)
        self.path, self.taken, self.among = path, taken, among
        for name, given in (("weights", self.weights), ("labels", self.labels)):
            if given is not None and given.shape != self.samples.shape:
                raise ValueError(
                    f"There are {given.size} {name} of {self.samples.size} samples; give one of each."
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: ArrayLike,
        y: ArrayLike | None = None,
        *,
        kind: str = "bars",
        n_terms: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the code of one row.

        Parameters
        ----------
        estimator : INNCoder or classifier
            A fitted `INNCoder`; as bars also a classifier by codes, `INNClassifier` or `SRCClassifier`.
        x : array-like of shape (n_features,) or (1, n_features)
            The row.
        y : array-like of shape (n_samples,) or None, default=None
            Class of each sample, to be told by colours; a classifier knows it.
        kind : {"bars", "path"}, default="bars"
            What to draw.
        n_terms : int, default=10
            How many bars to draw at most.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CodeDisplay
            The display, drawn.
        """
        check_choice("kind", kind, KINDS)
        check_whole("n_terms", n_terms)
        check_is_fitted(estimator)
        row = one_row(x)
        if isinstance(estimator, INNCoder):
            display = cls._of_coder(estimator, row, y, kind)
        elif kind == "path":
            raise ValueError(f"{type(estimator).__name__} has no path to show; give an INNCoder, or kind='bars'.")
        else:
            explanations = estimator.explain(row) if hasattr(estimator, "explain") else []
            if not explanations or not hasattr(explanations[0], "samples"):
                raise ValueError(
                    f"{type(estimator).__name__} has no codes to show; give INNCoder, INNClassifier or "
                    "SRCClassifier."
                )
            [code] = explanations
            display = cls(code.samples, code.weights, labels=code.labels)
        return display.plot(ax, kind=kind, n_terms=n_terms)

    @classmethod
    def from_predictions(cls, code: Any, y: ArrayLike | None = None, *, n_terms: int = 10, ax: Any = None) -> Self:
        """Draw a code that was made before, as bars.

        Parameters
        ----------
        code : array-like or sparse of shape (1, n_samples) or (n_samples,), or CodeExplanation
            A row of what `INNCoder` gives, or what a classifier by codes says in `explain`.
        y : array-like of shape (n_samples,) or None, default=None
            Class of each sample, to be told by colours; an explanation has it.
        n_terms : int, default=10
            How many bars to draw at most.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CodeDisplay
            The display, drawn.
        """
        check_whole("n_terms", n_terms)
        if hasattr(code, "samples"):
            return cls(code.samples, code.weights, labels=code.labels).plot(ax, n_terms=n_terms)
        weights = one_row(code.toarray() if issparse(code) else code)
        return cls._of_code(csr_array(weights), y, weights.shape[1]).plot(ax, n_terms=n_terms)

    @classmethod
    def _of_code(cls, code: Any, y: ArrayLike | None, n_samples: int) -> Self:
        order = np.argsort(-code.data, kind="stable")
        samples, weights = code.indices[order], code.data[order]
        labels = None if y is None else np.asarray(y)
        if labels is not None and labels.shape != (n_samples,):
            raise ValueError(f"y has shape {labels.shape}; give one label for each of {n_samples} samples.")
        return cls(samples, weights, labels=None if labels is None else labels[samples])

    @classmethod
    def _of_coder(cls, coder: INNCoder, row: NDArray[Any], y: ArrayLike | None, kind: str) -> Self:
        among = coder.samples_
        display = cls._of_code(coder.transform(row), y, len(among))
        if kind == "bars":
            return display
        if among.shape[1] != 2:
            raise ValueError(f"Rows have {among.shape[1]} features, and a path needs 2; use kind='bars'.")
        picked = among[display.samples].astype(np.float64)
        display.path, display.taken = walk(coder, row[0].astype(np.float64), picked, display.weights.sum())
        display.among = among
        return display

    def plot(self, ax: Any = None, *, kind: str = "bars", n_terms: int = 10) -> Self:
        """Draw the code.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        kind : {"bars", "path"}, default="bars"
            What to draw.
        n_terms : int, default=10
            How many bars to draw at most.

        Returns
        -------
        self : CodeDisplay
            The display, drawn.
        """
        check_choice("kind", kind, KINDS)
        check_whole("n_terms", n_terms)
        if kind == "path" and self.path is None:
            raise ValueError('This code has no path; make it by from_estimator(…, kind="path").')
        axes = find_axes(ax, (5.2, 4.6) if kind == "path" else (5.6, 3.4))
        if kind == "path":
            self._draw_path(axes)
        else:
            self._draw_bars(axes, n_terms)
        self.ax_, self.figure_ = axes, axes.figure  # type: ignore[assignment]
        return self

    def _draw_bars(self, axes: "Axes", n_terms: int) -> None:
        weights, samples = self.weights[:n_terms], self.samples[:n_terms]
        places = np.arange(len(weights))
        classes: Sequence[Any] = [None] if self.labels is None else np.unique(self.labels[:n_terms]).tolist()
        for number, label in enumerate(classes):
            chosen = slice(None) if self.labels is None else self.labels[:n_terms] == label
            color, name = (FOR, None) if label is None else (f"C{number}", str(label))
            axes.bar(places[chosen], weights[chosen], color=color, label=name)
        axes.set_xticks(places, [str(sample) for sample in samples.tolist()])
        left = float(self.weights[n_terms:].sum())
        more = f" ({len(self.weights) - n_terms} more weigh {left:.2f})" if len(self.weights) > n_terms else ""
        axes.set(xlabel=f"Sample{more}", ylabel="Weight in the code")
        if self.labels is not None:
            axes.legend(title="class", frameon=False)

    def _draw_path(self, axes: "Axes") -> None:
        path, taken, among = np.asarray(self.path), np.asarray(self.taken), np.asarray(self.among)
        picked = among[self.samples]
        axes.scatter(among[:, 0], among[:, 1], s=12, color=QUIET, label="samples")
        sizes = LARGEST_DOT * self.weights / self.weights.max()
        axes.scatter(picked[:, 0], picked[:, 1], s=sizes, color=AGAINST, alpha=0.6, label="in the code, by weight")
        for number, (start, sample) in enumerate(zip(path[:-1], taken, strict=True)):
            axes.plot(*np.transpose([start, sample]), color=AGAINST, linewidth=0.6, linestyle=":", zorder=1)
            axes.annotate("", path[number + 1], start, arrowprops={"arrowstyle": "->", "color": FOR})
        axes.scatter(path[0, 0], path[0, 1], marker="*", s=160, color=FOR, zorder=3, label="the row")
        across, up = self.weights @ picked
        axes.scatter(across, up, marker="x", s=60, color="black", zorder=4, label="sum of the code")
        axes.set_aspect("equal")
        axes.legend(frameon=False, fontsize="small")


def walk(
    coder: INNCoder, row: NDArray[np.float64], candidates: NDArray[np.float64], total: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places of the query, and samples taken, until the weights λ/(1+λ)^t make up the total.

    Only samples of the code can be taken, so that no others need to be looked at.
    """
    rate, order = coder.regularization, 1 if coder.metric == "l1" else 2
    n_steps = round(-np.log1p(-total) / np.log1p(rate))
    path, taken = [row], []
    for _ in range(n_steps):
        distances = np.linalg.norm(candidates - path[-1], ord=order, axis=1)
        taken.append(candidates[distances.argmin()])
        path.append(path[-1] + rate * (path[-1] - taken[-1]))
    return np.array(path), np.array(taken)
