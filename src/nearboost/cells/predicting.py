"""What a model of cells says of the cells of a project, which must have been found and described as its were."""

from pathlib import Path

from nearboost.cells.describing import CellRows
from nearboost.cells.project import Project
from nearboost.cells.training import cell_facts
from nearboost.datasets import DataError
from nearboost.models import Model, Prediction, load_model

SAME_SIZE = 0.02  # by how much pixels may differ in size and still be the same


def open_cell_model(path: Path) -> Model:
    """Load a model of cells; others are refused.

    Parameters
    ----------
    path : Path
        A model file.

    Returns
    -------
    Model
        With settings of cells.
    """
    model = load_model(path)
    if model.cells is None:
        raise DataError(f"{path} is no model of cells; make one with nearboost cells train.")
    return model


def check_alike(model: Model, project: Project, file: Path) -> None:
    """Refuse a model whose cells were seen, found or described in another way.

    Parameters
    ----------
    model : Model
        A model of cells.
    project : Project
        A project whose cells were described.
    file : Path
        What messages call the model.
    """
    theirs, ours = model.cells or {}, cell_facts(project)
    size, own_size = theirs.get("pixel_size"), ours["pixel_size"]
    if size is not None and own_size is not None and abs(size - own_size) > SAME_SIZE * size:
        raise DataError(
            f"{file} was trained with pixels of {size:g} µm and {project.folder} has pixels of {own_size:g} µm; "
            "train a model on images like these."
        )
    for section in ("channels", "segmentation", "features"):
        known = theirs.get(section) or {}
        for name, value in ours[section].items():
            if known.get(name) != value:
                raise DataError(
                    f"{file} was trained with {section} {name} = {known.get(name)}, and {project.folder} has "
                    f"{name} = {value}; make both alike, or train a model on this project."
                )


def predict_cells(model: Model, rows: CellRows) -> Prediction:
    """The class of each cell.

    Parameters
    ----------
    model : Model
        A model of cells.
    rows : CellRows
        Cells that were described as its were.

    Returns
    -------
    Prediction
        Labels and probabilities, in the order of the rows.
    """
    wanted = getattr(model.classifier, "n_features_in_", rows.features.shape[1])
    if rows.features.shape[1] != wanted:
        raise DataError(f"The model takes rows of {wanted} numbers, and cells have {rows.features.shape[1]}.")
    return model.predict_rows(rows.features)
