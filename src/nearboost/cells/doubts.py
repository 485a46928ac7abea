"""Labels that are likely mistakes, to look at again."""

from dataclasses import dataclass, field

from nearboost.base.words import counted
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.kept_models import last_trained, open_kept
from nearboost.cells.project import Project
from nearboost.cells.project_labels import present_labels
from nearboost.cells.training import file_hash
from nearboost.cells.voting import cell_of_name
from nearboost.models.suspects import suspects_in_file


@dataclass(frozen=True)
class SuspectCell:
    """A labelled cell whose label those that had not seen it would not give.

    Attributes
    ----------
    image, object : int
        Its numbers.
    label : str
        Its label in training.
    said : str
        What the others say.
    own, other : float
        Probabilities of the two.
    wrong : float
        Probability that the label is wrong.
    changed : bool
        Whether it has another label by now.
    """

    image: int
    object: int
    label: str
    said: str
    own: float
    other: float
    wrong: float
    changed: bool


@dataclass(frozen=True)
class Suspects:
    """Labels to look at again, the most doubtful first, and what stands above them."""

    lead: str
    cells: list[SuspectCell] = field(default_factory=list)


def suspects_of(project: Project, store: AnnotationStore, most: int = 60) -> Suspects:
    """Labels that are likely mistakes, by the model that was trained last on labels of this project.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    most : int, default=60
        How many at most.

    Returns
    -------
    Suspects
        Cells that are still there.
    """
    file = last_trained(project)
    if file is None:
        return Suspects("Train a model first; then labels that it would not give stand here.")
    model, _ = open_kept(file, file_hash(file))
    try:
        findings = suspects_in_file(model, most)
    except ValueError as error:
        return Suspects(str(error))
    present = {(one.image, one.object): one.name for one in present_labels(project, store).labels}
    cells = []
    for one in findings.suspects:
        key = cell_of_name(one.name)
        if key is not None and key in present:
            cells.append(
                SuspectCell(*key, one.label, one.said, one.own, one.other, one.wrong, present[key] != one.label)
            )
    judged = f"{findings.n_judged:,} of {counted(findings.n_items, 'label')} were judged by votes without them"
    disagree = f"{counted(findings.n_suspects, 'vote')} disagree" + ("s" if findings.n_suspects == 1 else "")
    return Suspects(f"{judged}; {disagree}; {findings.likely}.", cells)
