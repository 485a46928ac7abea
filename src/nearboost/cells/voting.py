"""Why the model says what it says of a cell: the training cells that voted, and how much."""

import re
from dataclasses import dataclass

from nearboost.base.errors import UsageError
from nearboost.cells.project import Project
from nearboost.cells.saying import said_of
from nearboost.models.explanation import explain

SHOWN = 5
OF_CELLS = (
    "A vote is what a training cell adds to the score of the class; a sum over the cell's own features adds "
    "the rest."
)


@dataclass(frozen=True)
class VotingCell:
    """A training cell and its vote.

    Attributes
    ----------
    row : int
        Its number in the training set, see `training_picture`.
    name : str
        What it is called: image and cell of the project where the model was trained.
    label : str
        Its class when the model was trained.
    vote : float
        Above 0 for the class that is said, below 0 against it.
    distance : float or None
        How far it is, where the method measures that.
    """

    row: int
    name: str
    label: str
    vote: float
    distance: float | None


@dataclass(frozen=True)
class CellVote:
    """The vote on a cell.

    Attributes
    ----------
    said : str
        The class.
    probability : float or None
        Of that class.
    score : float
        Of that class, of all votes together and what is said without voters.
    meaning : str
        What a vote is, in a sentence.
    note : str
        That the cell is unlike the training cells, where it is.
    voters : list of VotingCell
        The strongest first.
    n_voters : int
        How many had a vote.
    """

    said: str
    probability: float | None
    score: float
    meaning: str
    note: str
    voters: list[VotingCell]
    n_voters: int


def vote_on(project: Project, image: int, number: int, most: int = SHOWN) -> CellVote:
    """Who voted on a cell.

    Parameters
    ----------
    project : Project
        The project.
    image : int
        ImageNumber.
    number : int
        ObjectNumber.
    most : int, default=5
        How many voters are named.

    Returns
    -------
    CellVote
        Of the active model.
    """
    said = said_of(project)
    row = None if said is None else said.places.get((image, number))
    if said is None or row is None:
        raise UsageError("There is no model, or it does not know this cell; train one, or activate a kept one.")
    try:
        [vote] = explain(said.model, said.rows.features[row : row + 1])
    except ValueError as error:
        raise UsageError(str(error)) from None
    strongest = [voter for voter in vote.voters if voter.vote][:most]
    voters = [VotingCell(one.row, one.name, one.label, one.vote, one.distance) for one in strongest]
    n_voters = sum(voter.vote != 0 for voter in vote.voters)
    meaning = OF_CELLS if vote.linear else vote.meaning
    return CellVote(vote.said, vote.probability, vote.score, meaning, vote.note, voters, n_voters)


def training_picture(project: Project, row: int) -> bytes:
    """The small picture of a training cell that the active model's file holds.

    Parameters
    ----------
    project : Project
        The project.
    row : int
        Its number in the training set.

    Returns
    -------
    bytes
        A JPEG file.
    """
    said = said_of(project)
    origins = None if said is None else said.model.origins
    place = None if origins is None else origins.place(row)
    picture = None if origins is None or place is None else origins.picture(place)
    if picture is None:
        raise UsageError("The model has no picture of this training cell; train it anew to get one.")
    return picture


def cell_of_name(name: str) -> tuple[int, int] | None:
    """Image and object of a training cell by what a model calls it.

    >>> cell_of_name("image 12 cell 7")
    (12, 7)
    """
    found = re.fullmatch(r"image (\d+) cell (\d+)", name)
    return (int(found[1]), int(found[2])) if found else None
