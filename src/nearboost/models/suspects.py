"""Training items whose held-out vote disagrees most with their label: likely mistakes of labelling."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearboost.base.disk import check_target, write_text
from nearboost.base.errors import UsageError
from nearboost.base.image_set import ImageSet, data_address
from nearboost.base.progress import progress_bar
from nearboost.base.tables import format_csv
from nearboost.datasets import open_dataset
from nearboost.datasets.dataset import encode_labels
from nearboost.models.items import check_part, choose_part, labelled_rows
from nearboost.models.model import Model, load_model
from nearboost.pages.rendering import Card, render_template
from nearboost.problem.held_out import spread_folds, whole_groups

N_FOLDS = 5
TITLE = "Suspects of"
COLUMNS = ("name", "label", "said", "probability_of_label", "probability_of_said")


@dataclass(frozen=True)
class Suspect:
    """An item whose label and whose held-out vote differ.

    Attributes
    ----------
    name : what it is called
    label : as it was given
    said : by the others
    own, other : the probabilities of the two
    picture : a thumbnail, or None
    """

    name: str
    label: str
    said: str
    own: float
    other: float
    picture: bytes | None

    def in_columns(self) -> tuple[str, str, str, float, float]:
        """What stands in the `COLUMNS` of a table."""
        return self.name, self.label, self.said, self.own, self.other


@dataclass(frozen=True)
class Findings:
    """Suspects, the worst first; how many there are in all, how many items were judged, and how many there are."""

    suspects: list[Suspect]
    n_suspects: int
    n_judged: int
    n_items: int


def suspects_in_file(model: Model, most: int = 100) -> Findings:
    """From what the model's file holds: the held-out votes of boosted neighbours, and thumbnails of all items."""
    classifier, origins = model.last_step, model.origins
    rows = getattr(classifier, "held_out_rows_", np.empty(0, np.int64))
    known = 0 if origins is None else len(origins.rows)
    if origins is None or not len(rows) or known < model.n_training or known <= rows.max():
        raise ValueError(
            "The training items or their held-out votes are not in the model's file; give them with --data."
        )
    _refuse_several(model)
    chances = classifier.held_out_proba_
    truth = origins.labels[rows]
    worst, said = _worst(chances, truth)
    found = [
        Suspect(
            str(origins.names[rows[i]]),
            model.classes[truth[i]],
            model.classes[said[i]],
            float(chances[i, truth[i]]),
            float(chances[i, said[i]]),
            origins.picture(int(rows[i])),
        )
        for i in worst[:most].tolist()
    ]
    return Findings(found, len(worst), len(rows), model.n_training)


def suspects_in_rows(
    model: Model,
    rows: NDArray[Any],
    labels: NDArray[Any],
    names: Sequence[str],
    images: ImageSet | None = None,
    groups: NDArray[Any] | None = None,
    *,
    most: int = 100,
    verbose: int = 0,
) -> Findings:
    """From rows of the training items: the classifier is fitted on folds, and each item judged without it."""
    _refuse_several(model)
    if not hasattr(model.classifier, "predict_proba"):
        raise ValueError(f"{type(model.last_step).__name__} gives no probabilities; fit unn, n3 or slnd.")
    codes = encode_labels(labels, model.classes)
    chances = held_out(model.classifier, rows, codes, len(model.classes), groups, verbose)
    worst, said = _worst(chances, codes)
    found = [
        Suspect(
            names[i],
            model.classes[codes[i]],
            model.classes[said[i]],
            float(chances[i, codes[i]]),
            float(chances[i, said[i]]),
            None if images is None else images.thumbnail(i),
        )
        for i in worst[:most].tolist()
    ]
    return Findings(found, len(worst), len(rows), len(rows))


def held_out(
    classifier: Any, X: NDArray[Any], y: NDArray[Any], n_classes: int, groups: NDArray[Any] | None, verbose: int
) -> NDArray[np.float64]:
    """Probabilities of each row by a classifier that was fitted without it, its group and its copies."""
    together = whole_groups(X, groups)
    if min(len(np.unique(together[y == code])) for code in np.unique(y)) < 2:
        raise ValueError(
            "A class has one item or group only, which nobody else can judge; leave it out or give more."
        )
    folds = spread_folds(X, y, groups, N_FOLDS, 0)
    chances = np.zeros((len(X), n_classes))
    with progress_bar("Judging folds", int(folds.max()) + 1, verbose) as advance:
        for fold in range(folds.max() + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fitted = clone(classifier).fit(X[train], y[train])
            chances[np.ix_(test, fitted.classes_)] = fitted.predict_proba(X[test])
            advance()
    return chances


def _refuse_several(model: Model) -> None:
    if model.origins is not None and model.origins.labels.ndim == 2:
        raise ValueError("Items with several labels have no suspects yet; fit a model to one label per item.")


def _worst(chances: NDArray[np.float64], truth: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Items that are said to be of another class, by how much likelier that is; and what is said of all."""
    said = chances.argmax(axis=1)
    every = np.arange(len(truth))
    lead = chances[every, said] - chances[every, truth]
    disagree = np.flatnonzero(said != truth)
    return disagree[np.argsort(-lead[disagree], kind="stable")], said


def suspects_csv(findings: Findings) -> str:
    """One line for each suspect."""
    return format_csv(COLUMNS, (one.in_columns() for one in findings.suspects))


def is_suspects_table(text: str) -> bool:
    """Whether a file came from `suspects_csv`, and nobody added columns."""
    return text.partition("\n")[0] == ",".join(COLUMNS)


def is_suspects_page(text: str) -> bool:
    """Whether a file came from `suspects_page`."""
    return f"<title>{TITLE} " in text


def suspects_page(findings: Findings, model: str) -> str:
    """A page of thumbnails that asks for nothing from elsewhere; ``model`` is the name of its file."""
    cards = [
        Card(
            one.name,
            [("label", f"{one.label} {one.own:.1%}"), ("said", f"{one.said} {one.other:.1%}")],
            data_address(one.picture) if one.picture else None,
            one.other,
        )
        for one in findings.suspects
    ]
    return render_template(
        "cards.html.j2", title=f"{TITLE} {model}", lead=_lead(findings), cards=cards, created=None
    )


def _lead(findings: Findings) -> str:
    """What stands above the suspects."""
    judged = f"{findings.n_judged:,} of {findings.n_items:,} training items"
    lead = f"{judged} were judged by classifiers that had not seen their labels."
    if not findings.suspects:
        return f"{lead} No held-out vote disagrees with a label."
    n_shown = len(findings.suspects)
    which = f"the {n_shown:,} that disagree most are here" if n_shown < findings.n_suspects else "all are here"
    disagree = f"The votes on {findings.n_suspects:,} of them disagree with the label"
    return f"{lead} {disagree}; {which}, the worst first. Some are labelled wrongly, others are only hard."


def find_suspects(
    path: Path,
    data: str | None,
    *,
    layout: str = "auto",
    part: str = "auto",
    most: int = 100,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[Findings, dict[str, str]]:
    """The suspects of a model's file, or of its training data; and what was skipped."""
    check_part(part)
    model = load_model(path)
    if data is None:
        return suspects_in_file(model, most), {}
    dataset = choose_part(open_dataset(data, layout), part, "train")
    found = labelled_rows(model, dataset, thumbnails=True, n_jobs=n_jobs, verbose=verbose)
    some = found.dataset
    findings = suspects_in_rows(
        model, found.rows, some.labels, some.names, found.images, some.groups, most=most, verbose=verbose
    )
    return findings, found.skipped


def check_suspects_target(out: Path) -> Path:
    """Where the table goes; pages and tables that came from elsewhere are not written over."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{out} is not the name of a page; give one that ends in .html.")
    table = out.with_suffix(".csv")
    for file, is_ours in ((out, is_suspects_page), (table, is_suspects_table)):
        check_target(file)
        if file.exists() and not is_ours(file.read_text(encoding="utf-8", errors="replace")):
            raise UsageError(f"{file} exists and was not written by nearboost; give another name with --out.")
    return table


def write_suspects(findings: Findings, out: Path, name: str) -> Path:
    """The page, and the table beside it."""
    table = check_suspects_target(out)
    write_text(out, suspects_page(findings, name))
    write_text(table, suspects_csv(findings))
    return table
