"""What workers make together is what one process makes, to the last bit."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed")

import joblib
from dask import array as dask_array
from sklearn.model_selection import GridSearchCV

from clusters.local import cluster, full_of_ties, saved
from nearboost import KNNClassifier, N3Classifier, NeighborSearch, SLNDClassifier, distributed
from nearboost.base.progress import progress_told_to
from nearboost.datasets import open_rows
from nearboost.features import BioInspiredFeatures, extract
from nearboost.neighbors import rows as searched_rows
from neighbors.brute_force import assert_same

METRICS = ["l2", "cosine", "l1"]


@pytest.fixture(scope="module")
def client():
    with cluster() as client:
        yield client


def as_pair(found):
    return found.indices, found.distances


@pytest.mark.pairs
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("block", [3, 97, 4096])  # fewer rows than neighbours, some that do not divide, all
def test_the_graph_is_that_of_one_process(client, metric, dtype, grouped, kept, block, tmp_path):
    X = full_of_ties(300 if block == 97 else 60).astype(dtype)
    groups = np.arange(len(X)) // 4 if grouped else None
    options = {"metric": metric, "groups": groups, "into": tmp_path / "run" if kept else None, "block": block}
    found = distributed.graph(saved(tmp_path, X), 9, client, **options)
    expected = NeighborSearch(X.astype(np.float64), metric).graph(9, groups)
    assert_same(found, as_pair(expected))
    N3Classifier(5, n_rounds=2).fit(X, np.arange(len(X)) % 3, groups=groups, graph=found)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_four_processes_make_the_same(metric, tmp_path):
    X = full_of_ties(20_000, 8)
    groups = np.random.default_rng(0).integers(-1, 4_000, len(X))
    path, y = saved(tmp_path, X), np.arange(len(X)) % 5
    with cluster(4) as four:
        found = distributed.graph(path, 9, four, metric=metric, groups=groups, block=777)
        model = N3Classifier(9, metric=metric, n_rounds=3).fit(X, y, groups=groups, graph=found)
        answers = distributed.predict(model, path, four, method="predict_proba", block=1_111)
    assert_same(found, as_pair(NeighborSearch(X, metric).graph(9, groups)))
    np.testing.assert_array_equal(answers, model.predict_proba(X))


def test_a_block_in_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(searched_rows, "LEAST_ROOM", 1.0)
    X = full_of_ties(300)
    path, expected = str(saved(tmp_path, X)), NeighborSearch(X).graph(4)
    for memory in (3_000.0, None):
        indices, distances = distributed.graph_block(100, 150, path=path, k=4, memory=memory)
        np.testing.assert_array_equal(indices, expected.indices[100:150])
        np.testing.assert_array_equal(distances, expected.distances[100:150])


def test_rows_of_any_kind(client, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = full_of_ties(500)
    expected = as_pair(NeighborSearch(X).graph(4))
    (tmp_path / "parts").mkdir()
    for part in range(3):
        lists = pyarrow.array(list(X[200 * part : 200 * part + 200]))
        parquet.write_table(pyarrow.table({"x": lists}), tmp_path / "parts" / f"{part}.parquet")
    folder = tmp_path / "shared"
    path = saved(tmp_path, X)
    for rows in (
        path,
        np.load(path, mmap_mode="r"),
        X,
        np.load(path, mmap_mode="r")[::-1],
        tmp_path / "parts",
        open_rows(path),
        open_rows(tmp_path / "parts", folder),
        dask_array.from_array(X, chunks=(130, 5)),
    ):
        found = distributed.graph(rows, 4, client, folder=folder)
        flipped = rows is not path and isinstance(rows, np.ndarray) and rows[0, 0] != X[0, 0]
        assert_same(found, as_pair(NeighborSearch(X[::-1]).graph(4)) if flipped else expected)
    n_files = len(list(folder.iterdir()))
    distributed.graph(dask_array.from_array(X, chunks=(130, 5)), 4, client, folder=folder)
    assert len(list(folder.iterdir())) == n_files  # written once


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize(
    "classifier", [N3Classifier(5, n_rounds=5), KNNClassifier(3), SLNDClassifier(max_passes=2)]
)
def test_predictions_are_those_of_one_process(client, classifier, method, tmp_path):
    X = full_of_ties()
    y = np.array(["ant", "bee", "wasp"])[np.random.default_rng(0).integers(0, 3, len(X))]
    model = classifier.fit(X[::2], y[::2])
    if not hasattr(model, method):
        pytest.skip("it has no such answers")
    path = saved(tmp_path, X.astype(np.float32))
    found = distributed.predict(model, path, client, method=method, block=130, into=tmp_path / "run")
    expected = getattr(model, method)(X.astype(np.float32))
    if isinstance(model, SLNDClassifier) and method != "predict":  # products of other blocks round otherwise
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)
    again = distributed.predict(model, path, client, method=method, into=tmp_path / "run")
    np.testing.assert_array_equal(found, again)


def test_features_are_those_of_one_process(client, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    rng = np.random.default_rng(0)
    for i in range(70):
        image.fromarray(rng.integers(0, 255, (12, 16), dtype=np.uint8)).save(pictures / f"{i}.png")
    (pictures / "copy.png").write_bytes((pictures / "3.png").read_bytes())
    (pictures / "broken.jpg").write_bytes(b"no image")
    descriptor = BioInspiredFeatures((1,), 8)
    expected = extract(pictures, descriptor, tmp_path / "one")
    found = distributed.features(descriptor, pictures, client, into=tmp_path / "many")
    assert [entry.message for entry in found.failed] == [entry.message for entry in expected.failed]
    np.testing.assert_array_equal(found.X, expected.X)
    assert [entry.row for entry in found.table] == [entry.row for entry in expected.table]
    assert found.folder.name == expected.folder.name
    titles = []
    with progress_told_to(lambda title, done, total: titles.append((title, total))):
        distributed.features(descriptor, pictures, client, into=tmp_path / "many")
    assert titles[-1] == ("Describing", 0)  # nothing is made again


@pytest.mark.parametrize(
    "options", [{}, {"early_stopping": True}, {"fit_intercept": False, "scaling": "standard"}]
)
def test_slnd_on_projected_rows_learns_the_same_weights(client, options, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45_000, 6)).astype(np.float32)
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > X[:, 1]).astype(int)
    path, model = saved(tmp_path, X), SLNDClassifier(max_passes=1, **options)
    expected = model.fit(np.load(path, mmap_mode="r"), y).coef_
    found = model.fit(distributed.spread_rows(path, client, folder=tmp_path), y)
    np.testing.assert_array_equal(found.coef_, expected)
    [projected] = tmp_path.glob("projected-*/z.npy")
    kept = 36_000 if options == {"early_stopping": True} else 45_000
    assert len(np.load(projected, mmap_mode="r")) == kept


def test_searches_of_scikit_learn_are_spread_by_joblib(client):
    X = full_of_ties(200)
    y = (X[:, 0] > X[:, 1]).astype(int)
    grid = GridSearchCV(N3Classifier(n_rounds=3, n_jobs=1), {"n_neighbors": [3, 5, 9]}, cv=3)
    expected = grid.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask"):
        found = grid.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, expected)


def test_the_current_client_is_taken(client, tmp_path):
    X = full_of_ties(60)
    assert_same(distributed.graph(saved(tmp_path, X), 3), as_pair(NeighborSearch(X).graph(3)))


def test_an_interrupted_client_goes_on_with_missing_blocks(client, tmp_path):
    X = full_of_ties()
    path, told = saved(tmp_path, X), []

    def interrupt(title, done, total):
        told.append((done, total))
        if done == 3 and total == 14:
            raise KeyboardInterrupt

    def run(**more):
        told.clear()
        with progress_told_to(interrupt):
            return distributed.graph(path, 4, client, into=tmp_path / "run", **{"block": 50} | more)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert_same(run(block=600), as_pair(NeighborSearch(X).graph(4)))
    assert told[-1] == (11, 11)
    run()
    assert told == [(0, 0)]
    with pytest.raises(ValueError, match=r"holds another run, of metric='l2' where this one has 'l1'"):
        run(metric="l1")
    with pytest.raises(ValueError, match=r"holds another run, of groups=None where this one has"):
        run(groups=np.arange(len(X)))
    path = saved(tmp_path, X[::-1])
    with pytest.raises(ValueError, match=r"holds another run, of hash of first and last rows="):
        run()


def test_nothing_of_dask_is_imported_before_it_is_used():
    code = "import sys, nearboost.distributed; print(*[m for m in ('dask', 'distributed') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_lines_for_ray_make_the_same_graph(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "distributed.md").read_text(encoding="utf-8")
    lines = re.search(r"```python\n(import ray\n.*?)```", page, re.S)[1]
    assert len(lines.splitlines()) <= 12
    answer = {
        "init": lambda: None,
        "get": list,
        "remote": lambda **_: lambda function: SimpleNamespace(remote=function),
    }
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(**answer))
    monkeypatch.chdir(tmp_path)
    X = full_of_ties()
    saved(tmp_path, X, "rows.npy")
    known = {}
    exec(lines, known)
    assert_same(known["graph"], as_pair(NeighborSearch(X).graph(11)))
