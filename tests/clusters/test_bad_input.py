"""What goes wrong before and on the way is told in a sentence that names whose fault it is."""

import errno
import sys

import numpy as np
import pytest

pytest.importorskip("distributed")

from dask import array as dask_array

from clusters.local import cluster, full_of_ties, saved
from nearboost import N3Classifier, distributed
from nearboost.base import blocks
from nearboost.base.progress import progress_told_to
from nearboost.distributed import running, spreading
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


def test_rows_that_workers_cannot_read(client, tmp_path):
    chunked, whole = (dask_array.from_array(X, chunks=(20, width)) for width in (2, 5))
    for rows, folder, sentence in (
        (tmp_path / "none.npy", None, "none.npy does not exist"),
        (X, None, "ndarray is no .npy file that workers can open; give folder="),
        (tmp_path, None, "is no .npy file that workers can open; give folder="),
        (chunked, tmp_path, r"rows must be whole: use rechunk\(\{0: 'auto', 1: -1\}\)"),
        (chunked[:, 0], tmp_path, "rows must be whole"),
        (whole[whole[:, 0] > 0], tmp_path, r"chunks of unknown sizes; call its compute_chunk_sizes\(\) first"),
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


def test_a_worker_of_another_version_is_named(client, tmp_path, monkeypatch):
    path = saved(tmp_path, X)
    monkeypatch.setattr(running, "describe_versions", lambda names: dict.fromkeys(names, "9.9"))
    with pytest.raises(ValueError, match=r"has another version of nearboost than the client, .* instead of 9\.9"):
        distributed.graph(path, 3, client)


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
    with pytest.raises(OSError, match="has no room for the rows; make room, or give another folder"):
        distributed.graph(dask_array.from_array(X, chunks=(20, 5)), 3, client, folder=tmp_path / "shared")
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
