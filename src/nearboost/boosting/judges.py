"""Judge folds: honest scores of training rows without another search.

The weights of a row's neighbours were fitted on its own label, so leaving the row out of the vote is not
enough. The rows of a judge fold keep voting but are left out of every sum while the weights are learned;
scored afterwards, they are as good as new.
"""

import numpy as np
from numpy.typing import NDArray

from nearboost.boosting.labels import Labels

FEW_ROWS = 10_000  # up to here every row is judged, in folds; beyond, one fold of so many rows at most
N_FOLDS = 5


def choose_judges(
    labels: Labels, groups: NDArray[np.integer], random_state: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Rows of each judge fold: a fifth at a time, spread evenly over classes, groups kept whole.

    Five folds that cover all rows when these are few, one fold otherwise.
    """
    _, first_row, group_of_row = np.unique(groups, return_index=True, return_inverse=True)
    indptr, columns = labels.members.indptr, labels.members.indices
    class_of_row = np.full(labels.n_rows, -1)
    labelled = np.flatnonzero(np.diff(indptr))
    class_of_row[labelled] = columns[indptr[labelled]]
    order = np.lexsort((random_state.random_sample(len(first_row)), class_of_row[first_row]))
    fold_of_group = np.empty(len(order), dtype=int)
    n_folds = max(N_FOLDS, -(-labels.n_rows // FEW_ROWS))
    fold_of_group[order] = np.arange(len(order)) % n_folds
    folds = [np.flatnonzero(fold_of_group[group_of_row] == fold) for fold in range(N_FOLDS)]
    if labels.n_rows > FEW_ROWS:
        return folds[:1]
    return [fold for fold in folds if 0 < len(fold) < labels.n_rows - 1]
