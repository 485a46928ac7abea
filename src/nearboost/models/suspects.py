"""Training items whose label is least probable to those that have not seen it: likely mistakes of labelling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import check_target, write_text
from nearboost.base.errors import UsageError
from nearboost.base.image_set import ImageSet, data_address
from nearboost.base.tables import format_csv
from nearboost.datasets import open_dataset
from nearboost.datasets.dataset import encode_labels
from nearboost.ensemble.nearboost import NearBoostClassifier
from nearboost.models.items import check_part, choose_part, labelled_rows
from nearboost.models.mislabelled import Judged, judge_labels, judge_rows
from nearboost.models.model import Model, load_model
from nearboost.pages.rendering import Card, render_template

TITLE = "Suspects of"
FORMER_COLUMNS = ("name", "label", "said", "probability_of_label", "probability_of_said")
COLUMNS = (*FORMER_COLUMNS, "probability_wrong")
MISSING = "The training items or their held-out votes are not in the model's file; give them with --data."


@dataclass(frozen=True)
class Suspect:
    """An item whose label and whose held-out vote differ.

    Attributes
    ----------
    name : what it is called
    label : as it was given
    said : by the others
    own, other : the probabilities of the two
    wrong : the probability that the label is wrong
    picture : a thumbnail, or None
    """

    name: str
    label: str
    said: str
    own: float
    other: float
    wrong: float
    picture: bytes | None

    def in_columns(self) -> tuple[str, str, str, float, float, float]:
        """What stands in the `COLUMNS` of a table."""
        return self.name, self.label, self.said, self.own, self.other, self.wrong


@dataclass(frozen=True)
class Findings:
    """Items with a label that the others would not give.

    Attributes
    ----------
    suspects : the least probable label first
    n_suspects, n_judged, n_items : how many there are in all, how many items were judged, and how many there are
    n_likely : so many of the first are likely labelled wrongly
    share : how many of these should be, of 1; None where there are none
    """

    suspects: list[Suspect]
    n_suspects: int
    n_judged: int
    n_items: int
    n_likely: int
    share: float | None

    @property
    def likely(self) -> str:
        """The cut-off in words."""
        if self.share is None:
            return "none is more likely wrong than right"
        if self.n_likely == 1:
            return f"the first is likely wrong, with a probability of about {self.share:.0%}"
        return f"the first {self.n_likely:,} are likely wrong, about {self.share:.0%} of them"


def suspects_in_file(model: Model, most: int = 100, *, n_jobs: int | None = None, verbose: int = 0) -> Findings:
    """From what the model's file holds: held-out votes of NearBoost, or training rows that it can judge."""
    _refuse_several(model)
    origins = model.origins
    if origins is None or not np.array_equal(origins.rows, np.arange(model.n_training)):
        raise ValueError(MISSING)
    rows, chances = judged_in_file(model, n_jobs, verbose)
    judged = judge_labels(chances, origins.labels[rows])
    return _findings(
        model,
        judged,
        [str(name) for name in origins.names[rows]],
        origins.labels[rows],
        lambda i: origins.picture(int(rows[i])),
        most,
    )


def judged_in_file(
    model: Model, n_jobs: int | None = None, verbose: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Training rows, and probabilities of them that are held out."""
    classifier = model.last_step
    if isinstance(classifier, NearBoostClassifier):
        rows = classifier.held_out_rows_
        if not len(rows) or rows.max() >= model.n_training:
            raise ValueError(MISSING)
        return rows, classifier.held_out_proba_
    if not hasattr(classifier, "_given") or len(model.voters) < model.n_training:
        raise ValueError(MISSING)
    given = classifier._given()
    chances = judge_rows(given.X, given.y, len(model.classes), given.groups, n_jobs, verbose)
    return np.arange(len(given.X)), chances


def suspects_in_rows(
    model: Model,
    rows: NDArray[Any],
    labels: NDArray[Any],
    names: Sequence[str],
    images: ImageSet | None = None,
    groups: NDArray[Any] | None = None,
    *,
    most: int = 100,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Findings:
    """From rows of the training items, judged by NearBoost whatever the model's method is."""
    _refuse_several(model)
    codes = encode_labels(labels, model.classes)
    judged = judge_labels(judge_rows(rows, codes, len(model.classes), groups, n_jobs, verbose), codes)
    return _findings(model, judged, names, codes, lambda i: None if images is None else images.thumbnail(i), most)


def _findings(
    model: Model,
    judged: Judged,
    names: Sequence[str],
    codes: NDArray[Any],
    picture: Callable[[int], bytes | None],
    most: int,
) -> Findings:
    """The items that are said to be of another class, in the order of the judgement."""
    worst = judged.order[judged.said[judged.order] != codes[judged.order]]
    found = [
        Suspect(
            names[i],
            model.classes[codes[i]],
            model.classes[judged.said[i]],
            float(judged.own[i]),
            float(judged.other[i]),
            float(judged.wrong[i]),
            picture(i),
        )
        for i in worst[:most].tolist()
    ]
    return Findings(found, len(worst), len(codes), model.n_training, judged.n_likely, judged.share)


def _refuse_several(model: Model) -> None:
    if model.origins is not None and model.origins.labels.ndim == 2:
        raise ValueError("Items with several labels have no suspects yet; fit a model to one label per item.")


def suspects_csv(findings: Findings) -> str:
    """One line for each suspect."""
    return format_csv(COLUMNS, (one.in_columns() for one in findings.suspects))


def is_suspects_table(text: str) -> bool:
    """Whether a file came from `suspects_csv`, and nobody added columns."""
    return text.partition("\n")[0] in (",".join(COLUMNS), ",".join(FORMER_COLUMNS))


def is_suspects_page(text: str) -> bool:
    """Whether a file came from `suspects_page`."""
    return f"<title>{TITLE} " in text


def suspects_page(findings: Findings, model: str) -> str:
    """A page of thumbnails that asks for nothing from elsewhere; ``model`` is the name of its file."""
    cards = [
        Card(
            one.name,
            [
                ("label", f"{one.label} {one.own:.1%}"),
                ("said", f"{one.said} {one.other:.1%}"),
                ("wrong", f"{one.wrong:.0%} probable"),
            ],
            data_address(one.picture) if one.picture else None,
            one.wrong,
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
    n_shown, n_found = len(findings.suspects), findings.n_suspects
    disagree = "The vote on 1 of them disagrees" if n_found == 1 else f"The votes on {n_found:,} of them disagree"
    first = "the first is here" if n_shown == 1 else f"the first {n_shown:,} are here"
    which = first if n_shown < n_found else "it is here" if n_found == 1 else "all are here"
    order = ", the least probable label first" if n_shown > 1 else ""
    hard = "" if findings.n_likely == n_found else f"; {_rest(findings)} hard rather than mislabelled"
    return (
        f"{lead} {disagree} with the label; {which}{order}. By the probabilities of all labels, "
        f"{findings.likely}{hard}."
    )


def _rest(findings: Findings) -> str:
    """The suspects that are not likely wrong."""
    n_rest = findings.n_suspects - findings.n_likely
    if not findings.n_likely:
        return "it is" if n_rest == 1 else "they are"
    return "the other is" if n_rest == 1 else "the others are"


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
        return suspects_in_file(model, most, n_jobs=n_jobs, verbose=verbose), {}
    dataset = choose_part(open_dataset(data, layout), part, "train")
    found = labelled_rows(model, dataset, thumbnails=True, n_jobs=n_jobs, verbose=verbose)
    some = found.dataset
    items = (found.rows, some.labels, some.names, found.images, some.groups)
    findings = suspects_in_rows(model, *items, most=most, n_jobs=n_jobs, verbose=verbose)
    return findings, found.skipped


def check_suspects_target(out: Path, *, force: bool = True) -> Path:
    """Where the table goes; pages and tables that came from elsewhere are not written over."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{out} is not the name of a page; give one that ends in .html.")
    table = out.with_suffix(".csv")
    for file, is_ours in ((out, is_suspects_page), (table, is_suspects_table)):
        check_target(file)
        if file.exists() and not is_ours(file.read_text(encoding="utf-8", errors="replace")):
            raise UsageError(f"{file} exists and was not written by nearboost; give another name with --out.")
        check_target(file, force=force)
    return table


def write_suspects(findings: Findings, out: Path, name: str) -> Path:
    """The page, and the table beside it."""
    table = check_suspects_target(out)
    write_text(out, suspects_page(findings, name))
    write_text(table, suspects_csv(findings))
    return table
