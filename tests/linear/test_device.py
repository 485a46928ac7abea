"""SLND on a device chooses what it chooses on the CPU, and learns the same weights but for rounding."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from devices import needs_torch, on_devices
from linear.problems import noisy_classes
from nearboost import SLNDClassifier
from nearboost.base import loss_formulas as formulas
from nearboost.base.device import open_device
from nearboost.linear import tensors
from nearboost.models import load, save

pytestmark = needs_torch

CHOSEN = ("scaling", "rank", "damping")
# Of the largest weight. Sums over batches and samples are added up in another order; float32 was within 2.2e-6.
CLOSE = {"float64": 1e-11, "float32": 1e-5}
SETTINGS = [
    {},
    {"loss": "log", "fit_intercept": False},
    {"loss": "mat", "average": True},
    {"loss": "hinge", "balanced": True, "step": 1e-3, "rank": 6, "damping": 0.01},
    {"loss": "squared", "early_stopping": True, "max_passes": 6},
    {"loss": "binlog", "batch_size": 7, "max_passes": 2, "memory": 2e4},  # rows are projected in each pass
]


def both(device, X, y, **settings):
    return [SLNDClassifier(device=one, **settings).fit(X, y) for one in (None, device)]


def assert_alike(one, other, close):
    assert [one.report_[name] for name in CHOSEN] == [other.report_[name] for name in CHOSEN]
    assert other.step_ == pytest.approx(one.step_, rel=1e-6)
    for name in ("coef_", "intercept_"):
        expected = getattr(one, name)
        assert np.abs(getattr(other, name) - expected).max() <= close * np.abs(one.coef_).max()
    assert other.held_out_accuracy_ == pytest.approx(one.held_out_accuracy_, abs=0.003, nan_ok=True)
    np.testing.assert_allclose(other.history_["risk"], one.history_["risk"], rtol=1e-4)


@on_devices
@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.get("loss", "defaults"))
def test_same_choices_and_weights(settings, dtype, device):
    X, y = noisy_classes(900)
    assert_alike(*both(device, X.astype(dtype), y, **settings), CLOSE[dtype])


@on_devices
@pytest.mark.filterwarnings("ignore:rank=64")
def test_second_moments_in_float32(device):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((1200, 1100)) * np.geomspace(3, 0.05, 1100)).astype(np.float32)
    y = (X[:, :40] @ rng.standard_normal((40, 5))).argmax(axis=1)
    assert_alike(*both(device, X, y, rank=64, damping=0.01, max_passes=2), CLOSE["float32"])


@on_devices
def test_several_labels_a_row(device):
    X, y = noisy_classes(600)
    Y = np.column_stack([y < 2, y % 2 == 0, y == 3]).astype(int)
    assert_alike(*both(device, X, Y, calibration=None), CLOSE["float64"])


@on_devices
def test_mapped_rows_in_half_precision(device, tmp_path):
    X, y = noisy_classes(900)
    np.save(tmp_path / "rows.npy", X.astype(np.float16))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert_alike(*both(device, mapped, y, step=0.01, rank=8, damping=0.1), CLOSE["float32"])


@on_devices
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_tensors_stay_where_they_are(dtype, device):
    import torch

    X, y = noisy_classes(700)
    X = torch.from_numpy(X).to(getattr(torch, dtype))
    there = X.to(open_device(device))
    expected = SLNDClassifier(device=device).fit(X.double().numpy() if dtype == "float64" else X.numpy(), y)
    labels = torch.from_numpy(y).to(open_device(device))
    found = SLNDClassifier(device=device).fit(there, labels)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.n_features_in_ == 8
    np.testing.assert_array_equal(found.predict(there), expected.predict(X.numpy()))
    for block in (there[:300], there[300:].double()):
        found.partial_fit(block, labels[: len(block)] if len(block) == 300 else labels[300:])
    assert found.coef_.dtype == expected.coef_.dtype


@on_devices
def test_blocks_one_after_the_other(device):
    X, y = noisy_classes(900)
    models = [SLNDClassifier(device=one) for one in (None, device)]
    for model in models:
        for part in (slice(0, 40), slice(40, 500), slice(500, 900)):
            model.partial_fit(X[part], y[part], classes=range(4))
    assert_alike(*models, CLOSE["float64"])
    models[1].set_params(device=None).partial_fit(X, y)  # goes on without the device


@on_devices
def test_a_model_opens_without_the_device(device, tmp_path, monkeypatch):
    X, y = noisy_classes(400)
    model = SLNDClassifier(device=device).fit(X, y)
    save(model, tmp_path / "model.nb")
    monkeypatch.setitem(sys.modules, "torch", None)
    opened = load(tmp_path / "model.nb")
    np.testing.assert_array_equal(opened.predict_proba(X), model.predict_proba(X))
    assert opened.device == device
    with pytest.raises(ImportError, match="GPUs need PyTorch"):
        opened.fit(X, y)


@pytest.mark.parametrize("name", ["log", "binlog", "mat", "hinge", "squared"])
@pytest.mark.parametrize("kind", ["value", "slope"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formulas_on_tensors(dtype, kind, name):
    import torch

    margins = np.concatenate([np.linspace(-30, 30, 301), [-1e30, -800, 0, 800, 1e30]]).astype(dtype)
    with np.errstate(over="ignore"):
        expected = getattr(formulas, f"{name}_{kind}")(margins.astype(float))
    found = tensors._on_tensors(f"{name}_{kind}")(torch.from_numpy(margins)).numpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=20 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


class Recorder:
    """`torch.cuda` as far as steps are recorded with it; ``done`` is what would have been run or recorded."""

    def __init__(self):
        self.done, self.recorded, self.Stream = [], None, lambda device: self
        self.CUDAGraph = lambda: self
        self.current_stream = self.wait_stream = self.capture_begin = self.begin
        self.stream = lambda stream: nullcontext()

    def begin(self, *_, **named):
        self.recorded = [] if named else None

    def capture_end(self):
        self.kept, self.recorded = self.recorded, None

    def replay(self):
        self.done += self.kept

    def synchronize(self):
        pass

    def work(self):
        (self.done if self.recorded is None else self.recorded).append("step")


def test_steps_are_recorded_once_and_as_many(monkeypatch):
    import torch

    cuda = Recorder()
    monkeypatch.setattr(tensors, "import_torch", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: cuda)
    for times in (0, 31, 32, 100):
        cuda.done.clear()
        tensors.repeat(cuda.work, times, torch.device("cuda", 78))
        assert len(cuda.done) == times


def test_a_recording_that_fails_is_ended(monkeypatch):
    import torch

    cuda = Recorder()
    monkeypatch.setattr(tensors, "import_torch", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: cuda)

    def work():
        if cuda.recorded is not None:
            raise MemoryError

    with pytest.raises(MemoryError):
        tensors.repeat(work, 100, torch.device("cuda", 79))
    assert cuda.recorded is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "cuda"}, r"device='cuda' is not known; use one of 'gpu', None\."),
        (
            {"device": "torch:cpu", "step": "theory", "loss": "log"},
            r'step="theory" works on the CPU; use device=None\.',
        ),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        SLNDClassifier(**settings).fit(*noisy_classes(60))


def test_refuses_what_is_no_dense_matrix_of_numbers():
    import torch

    X, y = noisy_classes(60)
    model = SLNDClassifier(device="torch:cpu")
    with pytest.raises(
        ValueError, match=r"device='torch:cpu' takes dense rows; use device=None, or X\.toarray\(\)"
    ):
        model.fit(csr_array(X), y)
    given = torch.from_numpy(X)
    with pytest.raises(ValueError, match="must form a matrix"):
        model.fit(given[0], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(given, y[:50])
    given[17, 2] = np.nan
    with pytest.raises(ValueError, match=r"Row 17 holds NaN or infinity; drop it or fill in numbers\."):
        model.fit(given, y)
    with pytest.raises(ValueError, match="meta"):
        model.fit(torch.zeros((60, 8), device="meta"), y)
