"""Indices from outside are checked where they enter; docs/design/promises.md lists these doors."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

import nearboost as nb
from nearboost import features as nf
from nearboost.neighbors import METHODS, Neighbors, NeighborSearch

rng = np.random.default_rng(0)
X, y = rng.normal(size=(30, 4)), np.arange(30) % 3


@pytest.fixture(scope="module")
def neighbours():
    return NeighborSearch(X).graph(5)


def with_entry(array, value, place=(7, 2)):
    changed = array.copy()
    changed[place] = value
    return changed


def broken_sparse():
    """Matrices of 30 x 4 with an index, or a pointer, that leads out of them."""
    for kind in (csr_array, csc_array):
        for value in (-1, 30, 2**30):
            matrix = kind(X)
            matrix.indices[3] = value
            yield f"{kind.__name__}, index {value}", matrix
        for value in (-5, 10**6):
            matrix = kind(X)
            matrix.indptr[2] = value
            yield f"{kind.__name__}, pointer {value}", matrix
    for value in (-1, 30, 2**30):
        matrix = coo_array(X)
        matrix.row[3] = value
        yield f"coo_array, row {value}", matrix


@pytest.mark.parametrize("kind", [nb.N3Classifier, nb.UNNClassifier, nb.MLNNClassifier, nb.MAPBoostClassifier])
@pytest.mark.parametrize("index", [-1, 30, 7, 2**31 + 3, 2**32 + 1, 2**63 - 1])
def test_graphs(neighbours, kind, index):
    indices = with_entry(neighbours.indices.astype(np.int64), index)
    with pytest.raises(ValueError, match="Row 7 of the graph"):
        kind(5).fit(X, y, graph=(indices, neighbours.distances))


def test_a_graph_is_checked_as_it_will_be_used(neighbours):
    """What is written into it later reaches no kernel."""
    graph = Neighbors(neighbours.indices.copy(), neighbours.distances.copy())
    model = nb.N3Classifier(5, n_rounds=3).fit(X, y, graph=graph)
    expected = model.prune(6).decision_function(X)
    graph.indices[:] = 2**30
    graph.distances[:] = np.nan
    np.testing.assert_array_equal(model.prune(6).decision_function(X), expected)


@pytest.mark.parametrize("groups", [np.arange(29), np.zeros((30, 1), int), np.full(30, np.nan), ["a"] * 30])
def test_groups_of_a_search(groups):
    with pytest.raises(ValueError, match="Groups must be 30 integers"):
        NeighborSearch(X).graph(3, groups)
    with pytest.raises(ValueError, match="Groups must be 30 integers"):
        NeighborSearch(X).search(X[:2], 3, groups=groups, query_groups=[1, 2])


@pytest.mark.parametrize("rows", [[-1], [30], [2**63], [1.0], [[1]], ["1"]])
def test_rows_to_forget(rows):
    with pytest.raises(ValueError, match=r"rows must be a list|There is no training row"):
        nb.KNNClassifier().fit(X, y).forget(rows)


@pytest.mark.parametrize("label", [-1, 3, 2**40, 0.5])
def test_labels_of_later_blocks(label):
    model = nb.SLNDClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"not among the classes|Unknown label type"):
        model.partial_fit(X, with_entry(y.astype(type(label)), label, 7))


@pytest.mark.parametrize("matrix", [pytest.param(matrix, id=name) for name, matrix in broken_sparse()])
def test_sparse_matrices(matrix):
    for use in (
        lambda: nb.SLNDClassifier().fit(matrix, y),
        lambda: nb.SLNDClassifier(max_passes=1).fit(X, y).predict(matrix),
        lambda: nb.N3Classifier(5).fit(X, matrix),
        lambda: nb.LinearSGDClassifier().fit(X, matrix),
        lambda: nb.INNCoder().fit(X[:4]).reconstruct(matrix),
    ):
        with pytest.raises(ValueError, match=r"The sparse matrix of shape \(30, 4\) is broken"):
            use()


@pytest.mark.parametrize("row", [-1, 30, 2**40])
def test_pairs(row):
    with pytest.raises(ValueError, match=r"pairs names rows from .* to .*; X has rows 0 to 29"):
        nb.ITML().fit_pairs(X, [[0, 1], [2, row]], [True, False])


@pytest.mark.parametrize("region", [3, 255])
def test_masks(region):
    picture = np.full((9, 9), 100, dtype=np.uint8)
    with pytest.raises(ValueError, match="Mask 0 holds numbers from"):
        nf.BioInspiredFeatures((1,), regions=2).transform([picture], masks=[with_entry(picture * 0, region)])


@pytest.mark.parametrize(("place", "cell"), [(-np.inf, 0), (-3.0, 0), (1.0, 3), (1e300, 3), (np.inf, 3)])
def test_places_of_descriptors(place, cell):
    """Outside of the image they count for the cell at its rim."""
    values = rng.normal(size=(6, 3)).astype(np.float32)
    sets = [nb.LocalSet(values, np.full((6, 2), place))]
    model = nf.SpatialPyramid(levels=(2,), n_words=1, pooling="mean", random_state=0).fit(sets)
    assert np.flatnonzero(model.transform(sets)).tolist() == [cell]
    with pytest.raises(ValueError, match="Image 0 has positions that are NaN"):
        model.transform([nb.LocalSet(values, np.full((6, 2), np.nan))])


class Broken:
    """A back end that finds, or proposes, a row that there is not."""

    metrics = ("l2",)
    exact = False
    row, proposes = 30, False

    def __init__(self, rows):
        self.rows = rows

    def search(self, Q, k, groups, query_groups):
        found = np.full((Q.n_rows, k), self.row, dtype=np.int32)
        if self.proposes:
            queries = self.rows.queries(Q.part(slice(0, Q.n_rows)), query_groups)
            self.rows.keep_nearest(found, queries, groups, found.copy(), np.full(found.shape, np.inf))
        return found, np.zeros(found.shape)


@pytest.mark.parametrize("row", [-1, 30, 2**30])
def test_back_ends(row, monkeypatch):
    monkeypatch.setitem(METHODS, "broken", type("Own", (Broken,), {"row": row}))
    with pytest.raises(ValueError, match="found rows that there are not; its back end is broken"):
        NeighborSearch(X, method="broken").graph(3)
    monkeypatch.setitem(METHODS, "broken", type("Own", (Broken,), {"row": row, "proposes": True}))
    with pytest.raises(ValueError, match="back end is broken"):
        NeighborSearch(X, method="broken").search(X, 3)


LEARNERS = (
    nb.N3Classifier, nb.UNNClassifier, nb.MLNNClassifier, nb.MAPBoostClassifier, nb.KNNClassifier,
    nb.INNClassifier, nb.SRCClassifier, nb.CRCClassifier, nb.SLNDClassifier, nb.LinearSGDClassifier, nb.ITML,
    nb.NearBoostClassifier, nb.SoftDiscriminant, nb.LandmarkMap, nb.INNProjection,
    lambda: nb.SplitClassifier(nb.N3Classifier(5), 2),
)  # fmt: skip


@pytest.mark.parametrize("make", LEARNERS)
def test_labels_that_cannot_be_told_apart(make):
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    labels[7] = None
    with pytest.raises(ValueError, match="Row 7 of y has no label"):
        make().fit(X, labels)
    labels[7] = 2
    with pytest.raises(ValueError, match="y holds texts and others"):
        make().fit(X, labels)


@pytest.mark.parametrize("make", LEARNERS)
def test_columns_of_categories(make):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcd")).assign(e=pandas.Categorical(["x", "y", "z"] * 10))
    with pytest.raises(ValueError, match="Column 'e' is of the kind category and holds 'x'"):
        make().fit(table, y)


@pytest.mark.parametrize("kind", [nb.N3Classifier, nb.NearBoostClassifier])
def test_a_share_in_any_precision(kind):
    few = kind(n_prototypes=np.float32(0.2)).fit(X, y)
    expected = kind(n_prototypes=float(np.float32(0.2))).fit(X, y)
    np.testing.assert_array_equal(few.decision_function(X), expected.decision_function(X))
