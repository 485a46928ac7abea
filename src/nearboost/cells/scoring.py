"""How good a segmentation is, beside one that is trusted: matches one to one, pooled over fields."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.cells.regions import Labels, areas

THRESHOLDS = np.linspace(0.5, 0.95, 10).round(2)
MOSTLY = 0.5  # the share of a region's pixels that lie inside another one, from where on it is part of it


@dataclass(frozen=True)
class Score:
    """What was counted on some fields.

    Attributes
    ----------
    found : int
        Regions of the segmentation.
    true : int
        Regions of the reference.
    matches : tuple of int
        Pairs that overlap enough, one to one, at each of the thresholds 0.50, 0.55, … 0.95 of the intersection
        over the union.
    splits : int
        Regions of the reference that were found as several.
    merges : int
        Regions that were found and are several of the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.cells import score_labels
    >>> true = np.repeat([[0, 1, 1, 0, 2, 2]], 4, axis=0)
    >>> found = np.repeat([[0, 1, 1, 0, 0, 0]], 4, axis=0)
    >>> score = score_labels(found, true)
    >>> score.found, score.true, score.matches[0]
    (1, 2, 1)
    """

    found: int
    true: int
    matches: tuple[int, ...]
    splits: int
    merges: int

    @property
    def f1(self) -> float:
        """2·matches/(found + true) at half of the union; 1 where there is nothing to find and nothing was."""
        return 2 * self.matches[0] / (self.found + self.true) if self.found + self.true else 1.0

    @property
    def mean_ap(self) -> float:
        """Mean over the thresholds of matches/(found + true − matches)."""
        total = self.found + self.true
        return float(np.mean([m / (total - m) for m in self.matches])) if total else 1.0

    def as_json(self) -> dict[str, Any]:
        """Plain numbers.

        Returns
        -------
        dict
            Counts, F1 and mean average precision.
        """
        counts = {"found": self.found, "reference": self.true, "matches": self.matches[0]}
        return counts | {"f1": self.f1, "mean_ap": self.mean_ap, "splits": self.splits, "merges": self.merges}


def score_labels(found: NDArray[Any], true: NDArray[Any]) -> Score:
    """Compare the regions of two label pictures of one field.

    Parameters
    ----------
    found : ndarray of shape (height, width)
        Numbers of the regions to judge, 0 outside.
    true : ndarray of shape (height, width)
        The same of the reference.

    Returns
    -------
    Score
        Counts of this field.

    Examples
    --------
    >>> from nearboost.cells import demo_field, score_labels, segment_field
    >>> field = demo_field()
    >>> score = score_labels(segment_field(field.nuclei, field.stain).nuclei, field.nucleus_labels)
    >>> score.found, score.true, score.f1
    (30, 30, 1.0)
    """
    if found.shape != true.shape:
        raise ValueError(f"Labels of shape {found.shape} and {true.shape} cannot be compared; they must be equal.")
    ours, theirs = _from_one(found), _from_one(true)
    n_found, n_true = int(ours.max(initial=0)), int(theirs.max(initial=0))
    pairs = np.bincount(
        (ours.astype(np.int64) * (n_true + 1) + theirs).ravel(), minlength=(n_found + 1) * (n_true + 1)
    ).reshape(n_found + 1, n_true + 1)[1:, 1:]
    a, b = np.nonzero(pairs)
    shared = pairs[a, b]
    size_found, size_true = areas(ours)[1:], areas(theirs)[1:]
    union = size_found[a] + size_true[b] - shared
    splits = np.bincount(b[shared > MOSTLY * size_found[a]], minlength=n_true)
    merges = np.bincount(a[shared > MOSTLY * size_true[b]], minlength=n_found)
    matches = _match(a, b, shared / union, n_found, n_true)
    return Score(n_found, n_true, matches, int((splits > 1).sum()), int((merges > 1).sum()))


def pooled(scores: Iterable[Score]) -> Score:
    """Counts of several fields together.

    Parameters
    ----------
    scores : iterable of Score
        One for each field.

    Returns
    -------
    Score
        Their sums.

    Examples
    --------
    >>> from nearboost.cells import demo_field, pooled, score_labels, segment_field
    >>> fields = [demo_field(seed) for seed in range(3)]
    >>> scores = [score_labels(segment_field(one.nuclei).nuclei, one.nucleus_labels) for one in fields]
    >>> pooled(scores).true, pooled(scores).splits
    (90, 0)
    """
    each = list(scores)
    matches = np.sum([one.matches for one in each], axis=0) if each else np.zeros(len(THRESHOLDS), int)
    return Score(
        sum(one.found for one in each),
        sum(one.true for one in each),
        tuple(map(int, matches)),
        sum(one.splits for one in each),
        sum(one.merges for one in each),
    )


def _match(
    a: NDArray[Any], b: NDArray[Any], overlaps: NDArray[np.float64], n_found: int, n_true: int
) -> tuple[int, ...]:
    """The number of pairs at each threshold; a region may overlap two others by one half, and is matched once."""
    matched = np.zeros(len(THRESHOLDS), dtype=int)
    taken_a, taken_b = np.zeros(n_found, bool), np.zeros(n_true, bool)
    for pair in np.lexsort((b, a, -overlaps)):
        if overlaps[pair] < THRESHOLDS[0]:
            break
        if not (taken_a[a[pair]] or taken_b[b[pair]]):
            taken_a[a[pair]] = taken_b[b[pair]] = True
            matched += overlaps[pair] >= THRESHOLDS
    return tuple(map(int, matched))


def _from_one(labels: NDArray[Any]) -> Labels:
    """Numbers from 1 on without gaps."""
    numbers, flat = np.unique(labels, return_inverse=True)
    flat = flat.reshape(labels.shape)
    return (flat if numbers[0] == 0 else flat + 1).astype(np.int32)
