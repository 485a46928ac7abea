"""What goes wrong before and on the way is told in a sentence that names whose fault it is."""

import errno
import sys

import numpy as np
import pytest

pytest.importorskip("distributed")

from dask import array as dask_array
from dask.distributed import Client
from scipy import sparse

from clusters.local import cluster, full_of_ties, saved
from nearboost import N3Classifier, distributed
from nearboost.base import blocks
from nearboost.base.progress import progress_told_to
from nearboost.distributed import spreading
from nearboost.features import BioInspiredFeatures

X = full_of_ties(60)


@pytest.fixture(scope="module")
def client():
    with cluster() as client:
        yield client


def test_no_client_and_no_dask(tmp_path, monkeypatch):
    for call in (distributed.graph, lambda rows, k: distributed.predict(None, rows)):
        with pytest.raises(
            ValueError, match=r"(?s)no Dask client; these two lines.*import Client.*Client\(n_workers=2"
        ):
            call(saved(tmp_path, X), 3)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "nearboost\[dask\]"'):
        distributed.graph(saved(tmp_path, X), 3)


def test_clients_that_are_none(tmp_path):
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        pass
    for wrong, sentence in (
        (client, "The Dask client is closed; start another one"),
        ("tcp://127.0.0.1:8786", "is no Dask client that waits for answers"),
    ):
        with pytest.raises(ValueError, match=sentence):
            distributed.graph(saved(tmp_path, X), 3, wrong)


def test_a_cluster_that_goes_away(tmp_path):
    with cluster() as client:

        def close(title, done, total):
            if done == 2:
                client.cluster.close()

        with (
            progress_told_to(close),
            pytest.raises(RuntimeError, match=r"The cluster is gone .* only missing ones"),
        ):
            distributed.graph(saved(tmp_path, X), 3, client, block=5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": 60}, "k=60 must be a whole number of at least 1 and at most 59"),
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"metric": "l3"}, "metric='l3' is not known"),
        ({"search": "fast"}, "search='fast' is not known"),
        ({"block": 0}, "block=0 must be a whole number of at least 1"),
        (
            {"groups": np.zeros(59, int)},
            r"Groups must be 60 integers, one for each row, not int64 of shape \(59,\)",
        ),
        ({"groups": np.zeros(60, int)}, "k=3 must be a whole number of at least 1 and at most 0"),
    ],
)
def test_settings(client, options, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        distributed.graph(saved(tmp_path, X), **{"k": 3, "client": client} | options)


def shorter(array):
    """A Dask array whose chunks have fewer rows than it says."""
    return array.map_blocks(lambda chunk: chunk[:10], dtype=float, meta=np.empty((0, 0)))


def test_rows_that_workers_cannot_read(client, tmp_path):
    chunked, whole = (dask_array.from_array(X, chunks=(20, width)) for width in (2, 5))
    for rows, folder, sentence in (
        (tmp_path / "none.npy", None, "none.npy does not exist"),
        (X, None, "ndarray is no .npy file that workers can open; give folder="),
        (tmp_path, None, "is no .npy file that workers can open; give folder="),
        (chunked, tmp_path, r"rows must be whole: use rechunk\(\{0: 'auto', 1: -1\}\)"),
        (chunked[:, 0], tmp_path, "rows must be whole"),
        (whole[whole[:, 0] > 0], tmp_path, r"chunks of unknown sizes; call its compute_chunk_sizes\(\) first"),
        (sparse.csr_matrix(X), tmp_path, "Rows are sparse"),
        (None, tmp_path, "Rows must form a matrix"),
        (client.scatter(X), tmp_path, "rows are scattered, and lost with the worker .*; give a path, an array or"),
        (
            shorter(whole),
            tmp_path,
            r"Rows \d+ to \d+ of the Dask array are float64 of shape \(10, 5\), and it says",
        ),
        (whole.map_blocks(np.float64, dtype=int), tmp_path, "are float64 of .* says that they are int64"),
        (saved(tmp_path, np.array(["a"]), "texts.npy"), None, "holds <U1 of shape"),
        (saved(tmp_path, np.where(np.arange(60) == 7, np.nan, X.T).T), None, "Row 7 .*NaN"),
    ):
        with pytest.raises(ValueError, match=sentence):
            distributed.graph(rows, 3, client, folder=folder)


@pytest.mark.parametrize("harm", ["removed", "longer", "changed"])
def test_a_worker_that_sees_another_file_is_named(client, harm, tmp_path):
    path = saved(tmp_path, X)

    def before_the_first_task(title, done, total):
        if harm == "removed":
            path.unlink(missing_ok=True)
        else:
            saved(tmp_path, X[::-1] if harm == "changed" else np.vstack([X, X]))

    what = {
        "removed": "finds no .*X.npy; give a path that all",
        "longer": "has another size of .*X.npy than the cl",
    }
    sentence = what.get(harm, "has another hash of first and last rows of .*X.npy than the client")
    with progress_told_to(before_the_first_task), pytest.raises(ValueError, match=f"Worker tcp://.* {sentence}"):
        distributed.graph(path, 3, client)


def test_a_file_that_changes_in_the_middle_is_noticed(client, tmp_path):
    path = saved(tmp_path, X)

    def change_a_row(title, done, total):
        if done == 3:
            rows = np.load(path, mmap_mode="r+")
            rows[30] += 1  # none of the first and last, whose hash is compared
            rows.flush()

    def run():
        return distributed.graph(path, 3, client, block=5, into=tmp_path / "run")

    with (
        progress_told_to(change_a_row),
        pytest.raises(ValueError, match=r"sees that .*X.npy was changed while its rows were read; leave it as it"),
    ):
        run()
    with pytest.raises(ValueError, match="holds another run, of time of the file's last change="):
        run()


def test_a_worker_with_too_little_memory_is_named(client, tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "LEAST_MEMORY", 1e12)
    with pytest.raises(
        ValueError, match=r"Worker tcp.* has 250,000,000 bytes for a task, a quarter .* needs 1,000,00"
    ):
        distributed.graph(saved(tmp_path, X), 3, client)


def test_no_room_on_the_disk(client, tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blocks, "reserve", full)
    with pytest.raises(OSError, match="has no room for 2,160 bytes; make room, or give another folder"):
        distributed.graph(saved(tmp_path, X), 3, client, into=tmp_path / "run")
    monkeypatch.setattr("nearboost.distributed.files.reserve", full)
    for rows in (X, dask_array.from_array(X, chunks=(20, 5))):
        with pytest.raises(OSError, match="has no room for the rows; make room, or give another folder"):
            distributed.graph(rows, 3, client, folder=tmp_path / "shared")
        assert not list((tmp_path / "shared").iterdir())


def test_predictions(client, tmp_path):
    model = N3Classifier(3, n_rounds=2).fit(X, np.arange(60) % 2)
    with pytest.raises(ValueError, match="method='predict_log_proba' is not known"):
        distributed.predict(model, saved(tmp_path, X), client, method="predict_log_proba")
    with pytest.raises(
        ValueError, match="model is of the kind str, without predict of rows as an array; give a fit"
    ):
        distributed.predict("model.nb", saved(tmp_path, X), client)
    with pytest.raises(ValueError, match="X has 4 features, but"):
        distributed.predict(model, saved(tmp_path, X[:, :4]), client)


def test_files_that_a_worker_does_not_find(client, tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.full((12, 16), 40, dtype=np.uint8)).save(tmp_path / "a.png")

    def before_the_first_task(title, done, total):
        if title == "Describing":
            (tmp_path / "a.png").unlink(missing_ok=True)

    with (
        progress_told_to(before_the_first_task),
        pytest.raises(
            ValueError, match=r"Worker tcp://.* does not find .*a.png; give paths that all workers can open"
        ),
    ):
        distributed.features(BioInspiredFeatures((1,), 8), [tmp_path / "a.png"], client, into=tmp_path / "store")
