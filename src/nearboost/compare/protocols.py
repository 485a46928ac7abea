"""Protocols: which items train and which test, drawn with a seed."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.base.validation import check_whole
from nearboost.datasets import DataError, Dataset

KNOWN = "fixed, half, N-per-class, N-per-class/M, K-fold, grouped-half, grouped-K-fold"
Indices = NDArray[np.intp]


class Split(NamedTuple):
    """Positions of the training and of the test items, in rising order, and the seed that drew them."""

    train: Indices
    test: Indices
    seed: int

    @property
    def items(self) -> list[int]:
        """Training items, then test items."""
        return [*self.train.tolist(), *self.test.tolist()]


class Protocol(NamedTuple):
    """A protocol's parts: what is drawn, how many, and whether groups stay together."""

    kind: str  # "fixed", "half", "per-class" or "fold"
    number: int = 2  # training items of each class, or folds
    most_tests: int | None = None  # of each class
    is_grouped: bool = False


def parse_protocol(text: str) -> Protocol:
    """What a protocol's name means.

    Examples
    --------
    >>> parse_protocol("100-per-class/50")
    Protocol(kind='per-class', number=100, most_tests=50, is_grouped=False)
    """
    grouped = text.startswith("grouped-")
    rest = text.removeprefix("grouped-")
    if text == "fixed" or rest == "half":
        return Protocol(rest, is_grouped=grouped)
    fold = re.fullmatch(r"([0-9]{1,9})-fold", rest)
    if fold and int(fold[1]) >= 2:
        return Protocol("fold", int(fold[1]), is_grouped=grouped)
    per_class = re.fullmatch(r"([0-9]{1,9})-per-class(?:/([0-9]{1,9}))?", text)
    if per_class and int(per_class[1]) >= 1 and per_class[2] != "0":
        return Protocol("per-class", int(per_class[1]), int(per_class[2]) if per_class[2] else None)
    raise UsageError(f"protocol={text!r} is not known; use one of {KNOWN}, as in 30-per-class or 5-fold.")


def make_splits(dataset: Dataset, protocol: str, repeats: int = 1, seed: int = 0) -> list[Split]:
    """The splits of a protocol: one for each repeat, or as many as there are folds.

    Parameters
    ----------
    dataset : its parts are pooled first, except by "fixed"
    protocol : "fixed" is the set's own split; "half" trains on half of each class; "30-per-class" on 30 of each,
        and "100-per-class/50" tests on at most 50 others; "5-fold" tests on each fifth in turn, stratified;
        "grouped-half" and "grouped-5-fold" keep the items of a group (track, plate) on one side
    repeats : how often it is drawn; the seeds are ``seed``, ``seed + 1`` and so on
    seed : of the first draw

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.datasets import Dataset
    >>> labels = np.array(["a", "a", "b", "b", "b", "a"])
    >>> data = Dataset("toy", "vectors", np.zeros((6, 2)), labels, ("a", "b"), [f"row {i}" for i in range(6)])
    >>> [split] = make_splits(data, "2-per-class", seed=1)
    >>> sorted(labels[split.train].tolist()), sorted(labels[split.test].tolist())
    (['a', 'a', 'b', 'b'], ['a', 'b'])
    """
    check_whole("repeats", repeats)
    check_whole("seed", seed, least=0)
    wanted = parse_protocol(protocol)
    _check_possible(dataset, protocol, wanted, repeats)
    splits = []
    for drawn in range(seed, seed + repeats):
        for is_test, is_train in _draws(dataset, wanted, drawn):
            split = Split(np.flatnonzero(is_train), np.flatnonzero(is_test), drawn)
            _check_split(dataset, protocol, split)
            splits.append(split)
    return splits


def draw_part(dataset: Dataset, split: Split, share: float) -> NDArray[np.bool_]:
    """A share of a split's training items, as flags: the same of each class, one at least; larger ones hold it."""
    strata = np.zeros(len(split.train), dtype=np.intp) if dataset.is_multilabel else dataset.codes()[split.train]
    order = np.random.default_rng(split.seed).permutation(len(strata))
    kept = np.zeros(len(strata), dtype=bool)
    for stratum in np.unique(strata):
        mine = order[strata[order] == stratum]
        kept[mine[: max(1, round(share * len(mine)))]] = True
    return kept


def protocol_notes(dataset: Dataset, protocol: str) -> tuple[str, ...]:
    """What a reader of results under this protocol should know."""
    wanted = parse_protocol(protocol)
    if dataset.groups is None or wanted.is_grouped or wanted.kind == "fixed":
        return ()
    together = "grouped-5-fold" if wanted.kind == "fold" else "grouped-half"
    both = f"Items of one group (track, plate) fall on both sides of {protocol}, which flatters every method"
    return (f"{both}; {together} keeps them together.",)


def _draws(dataset: Dataset, wanted: Protocol, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Who tests and who trains, as flags."""
    if wanted.kind == "fixed":
        part = np.asarray(dataset.part)
        yield part == "test", part == "train"
        return
    ranks, sizes, starts = _ranks(dataset, seed)
    if wanted.kind == "fold" or wanted.is_grouped:
        # Dealt out like cards, class after class: folds of a class and whole folds differ by one item at most.
        fold = (
            _group_folds(dataset, wanted.number, seed) if wanted.is_grouped else (starts + ranks) % wanted.number
        )
        for k in range(wanted.number if wanted.kind == "fold" else 1):
            yield fold == k, fold != k
    else:
        n_train = sizes // 2 if wanted.kind == "half" else np.full_like(sizes, wanted.number)
        most = sizes if wanted.most_tests is None else n_train + wanted.most_tests
        yield (ranks >= n_train) & (ranks < most), ranks < n_train


def _ranks(dataset: Dataset, seed: int) -> tuple[Indices, Indices, Indices]:
    """Each item's place in a random order of its class, the size of the class, and of all classes before it."""
    strata = np.zeros(len(dataset), dtype=np.intp) if dataset.is_multilabel else dataset.codes()
    rng = np.random.default_rng(seed)
    order = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata)
    starts = np.cumsum(sizes) - sizes
    ranks = np.empty(len(dataset), dtype=np.intp)
    for start, size in zip(starts, sizes, strict=True):
        ranks[rng.permutation(order[start : start + size])] = np.arange(size)
    return ranks, sizes[strata], starts[strata]


def _group_folds(dataset: Dataset, n_folds: int, seed: int) -> Indices:
    """The fold of each item: groups in random order, each to the fold that lacks its classes most.

    scikit-learn's stratified group folds sort the groups first, so that other seeds hardly give other folds.
    """
    groups, group_of = np.unique(np.asarray(dataset.groups), return_inverse=True)
    marks = dataset.labels if dataset.is_multilabel else np.eye(len(dataset.classes))[dataset.codes()]
    marks = np.column_stack([marks, np.ones(len(marks))])  # the size of the folds counts as much as a class
    shares = np.zeros((len(groups), marks.shape[1]))
    np.add.at(shares, group_of, marks / np.maximum(marks.sum(axis=0), 1))
    filled = np.zeros((n_folds, marks.shape[1]))
    fold = np.empty(len(groups), dtype=np.intp)
    for group in np.random.default_rng(seed).permutation(len(groups)):
        # The sum of (filled + share − 1/K)² over classes grows least where filled·share is smallest.
        fold[group] = np.argmin(filled @ shares[group])
        filled[fold[group]] += shares[group]
    return fold[group_of]


def _check_possible(dataset: Dataset, protocol: str, wanted: Protocol, repeats: int) -> None:
    name = dataset.name
    if wanted.kind == "fixed":
        if dataset.part is None:
            raise DataError(f"{name} has no train and test parts for protocol='fixed'; use half or 5-fold.")
        if repeats > 1:
            raise DataError(
                f"protocol='fixed' has one split, so repeats={repeats} would repeat it; use repeats=1."
            )
    if wanted.is_grouped:
        _check_groups(dataset, protocol, wanted)
    elif wanted.kind == "per-class" and dataset.is_multilabel:
        raise DataError(f"{name} has items with several labels, so {protocol} is not defined; use half or 5-fold.")
    elif wanted.kind != "fixed":
        _check_sizes(dataset, protocol, wanted)


def _check_groups(dataset: Dataset, protocol: str, wanted: Protocol) -> None:
    plain = protocol.removeprefix("grouped-")
    if dataset.groups is None:
        raise DataError(f"{dataset.name} has no groups (tracks, plates) for protocol={protocol!r}; use {plain}.")
    n_groups = len(np.unique(dataset.groups))
    if n_groups < wanted.number:
        raise DataError(f"{dataset.name} has {n_groups} groups; protocol={protocol!r} needs {wanted.number}.")
    for name in () if dataset.is_multilabel else dataset.classes:
        if len(np.unique(dataset.groups[dataset.labels == name])) < 2:
            raise DataError(
                f"{dataset.name} has class {name!r} in one group only, which protocol={protocol!r} cannot divide; "
                f"use {plain} or leave out that class."
            )


def _check_sizes(dataset: Dataset, protocol: str, wanted: Protocol) -> None:
    needed = wanted.number + 1 if wanted.kind == "per-class" else wanted.number
    counts = {dataset.name: len(dataset)} if dataset.is_multilabel else dataset.counts
    smallest = min(counts, key=lambda name: counts[name])
    n = counts[smallest]
    if n >= needed:
        return
    smaller = {"per-class": f"{n - 1}-per-class", "fold": f"{n}-fold"}.get(wanted.kind)
    use = f"use {smaller} or fewer, or " if smaller and n > 1 else ""
    n_small = sum(count < needed for count in counts.values())
    raise DataError(
        f"{dataset.name} has {n} of class {smallest!r}; protocol={protocol!r} needs {needed} of each class: "
        f"{use}leave out such classes ({n_small} of {len(counts)})."
    )


def _check_split(dataset: Dataset, protocol: str, split: Split) -> None:
    """Both sides have items, and no class is met in testing alone."""
    for side, chosen in (("train", split.train), ("test", split.test)):
        if not len(chosen):
            raise DataError(f"{dataset.name} has no items to {side} with protocol={protocol!r}.")
    if dataset.is_multilabel:
        return
    known = set(dataset.labels[split.train].tolist())
    unknown = sorted(set(dataset.labels[split.test].tolist()) - known)
    if unknown or len(known) < 2:
        what = f"no items of class {unknown[0]!r} to train" if unknown else "one class only to train"
        raise DataError(
            f"{dataset.name} leaves {what} with protocol={protocol!r}, seed {split.seed}; use another protocol or "
            "leave out that class."
        )
