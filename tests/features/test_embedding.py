"""Embedding: small networks made here, their preprocessing, and what it says to others."""

import hashlib
import json
import pickle
import shutil
import sys

import numpy as np
import pytest
from sklearn.base import clone

from features.pictures import as_bytes, picture
from nearboost.features.embedding import Embedding, Network, cut_out
from nearboost.features.extraction import extract
from nearboost.features.fingerprint import fingerprint

onnx = pytest.importorskip("onnx", reason="onnx makes the networks of these tests")
pytest.importorskip("onnxruntime", reason="onnxruntime is in the extra onnx")

FLOAT, HALF = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
WEIGHTS = np.random.default_rng(0).normal(size=(5, 3, 1, 1)).astype(np.float32)


def save_network(path, nodes, shape, outputs, weights=(), kind=FLOAT):
    helper = onnx.helper
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", kind, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def convolution(path, shape=("n", 3, 16, 16), kind=FLOAT):
    """A 1 x 1 convolution: maps, and their means."""
    node = onnx.helper.make_node
    weights = WEIGHTS[:, : shape[1]].astype(np.float16 if kind == HALF else np.float32)
    nodes = [
        node("Conv", ["image", "weights"], ["maps"]),
        node("GlobalAveragePool", ["maps"], ["pooled"]),
        node("Flatten", ["pooled"], ["means"]),
    ]
    return save_network(path, nodes, shape, ["means", "maps"], [("weights", weights)], kind)


def expected(image, mean, std, n_channels=3):
    """Of an image that needs no resizing."""
    pixels = image if image.ndim == 3 else np.repeat(image[..., np.newaxis], n_channels, axis=2)
    scaled = (pixels - np.asarray(mean)) / np.asarray(std)
    return scaled.mean(axis=(0, 1)) @ WEIGHTS[:, :n_channels, 0, 0].T.astype(float)


@pytest.fixture
def network(tmp_path):
    return convolution(tmp_path / "small.onnx")


IMAGES = [picture(16, 16, seed, channels=3) for seed in range(4)]


def test_rows_of_a_network(network):
    model = Embedding(network, crop=1.0)
    rows = model.transform(IMAGES)
    assert rows.dtype == np.float32
    usual = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    np.testing.assert_allclose(rows, [expected(image, *usual) for image in IMAGES], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.set_params(output="maps").transform(IMAGES), rows, atol=1e-5)
    own = Embedding(network, crop=1.0, mean=(0.1, 0.2, 0.3), std=0.5).transform(IMAGES)
    np.testing.assert_allclose(own, [expected(image, (0.1, 0.2, 0.3), 0.5) for image in IMAGES], atol=1e-5)
    assert Embedding(network).fit().transform([]).shape == (0, 0)


def test_middle_of_an_image():
    """Resized so that the kept share fills the network's input."""
    image = np.zeros((40, 80, 1), dtype=np.float32)
    image[10:30, 30:50] = 1
    np.testing.assert_array_equal(cut_out(image, 20, 20, 0.5), 1)
    np.testing.assert_array_equal(cut_out(image, 40, 40, 1.0)[:, :, 0], image[:, 20:60, 0])
    assert cut_out(image, 37, 11, 0.875).shape == (37, 11, 1)
    assert cut_out(image[:3, :2], 16, 16, 0.875).shape == (16, 16, 1)


def test_grey_colour_types_and_paths(network, tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")
    model = Embedding(network, crop=1.0)
    grey = as_bytes(picture(16, 16, 7))
    pil.fromarray(grey).save(tmp_path / "grey.png")
    stacked = np.repeat(grey[..., np.newaxis], 3, axis=2)
    np.testing.assert_array_equal(model.transform([tmp_path / "grey.png", stacked]), model.transform([grey, grey]))
    one = convolution(tmp_path / "one.onnx", ("n", 1, 16, 16))
    rows = Embedding(one, crop=1.0, mean=0.5, std=(0.2,)).transform(grey)
    np.testing.assert_allclose(rows[0], expected(grey / 255, 0.5, 0.2, 1), atol=1e-5)
    half = convolution(tmp_path / "half.onnx", kind=HALF)
    np.testing.assert_allclose(Embedding(half).transform(IMAGES), Embedding(network).transform(IMAGES), atol=0.02)


def test_channels_last_and_tokens(tmp_path):
    node = onnx.helper.make_node
    last = save_network(tmp_path / "last.onnx", [node("Identity", ["image"], ["maps"])], (1, 16, 16, 3), ["maps"])
    rows = Embedding(last, crop=1.0, mean=0.0, std=1.0).transform(IMAGES)
    np.testing.assert_allclose(rows, [image.mean(axis=(0, 1)) for image in IMAGES], rtol=1e-5)
    shape = [("shape", np.array([1, 256, 3]))]
    nodes = [node("Reshape", ["image", "shape"], ["tokens"])]
    tokens = save_network(tmp_path / "tokens.onnx", nodes, (1, 16, 16, 3), ["tokens"], shape)
    np.testing.assert_allclose(Embedding(tokens, crop=1.0, mean=0.0, std=1.0).transform(IMAGES), rows, rtol=1e-5)


def test_sizes(tmp_path):
    free = convolution(tmp_path / "free.onnx", ("n", 3, "h", "w"))
    flat = np.full((50, 70, 3), 0.5)
    np.testing.assert_allclose(
        Embedding(free, size=32).transform(flat), Embedding(free).transform(flat), rtol=1e-4
    )
    assert Embedding(free)._prepare()[0].height == 224
    assert Embedding(free, size=32)._prepare()[0].width == 32
    wide = Embedding(convolution(tmp_path / "wide.onnx", (1, 3, 10, 30)))
    assert wide.transform(flat).shape == (1, 5)


@pytest.mark.alone
def test_same_for_any_threads_copies_and_stores(network, tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")
    model = Embedding(network, n_jobs=1)
    rows = model.transform(IMAGES)
    for other in (clone(model).set_params(n_jobs=2), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(IMAGES), rows)
    np.testing.assert_array_equal(model.transform(IMAGES[2]), rows[2:3])
    pil.fromarray(as_bytes(IMAGES[0])).save(tmp_path / "0.png")
    store = extract(tmp_path, model, tmp_path / "stores")
    np.testing.assert_array_equal(store.X, model.transform(as_bytes(IMAGES[0])))


def test_fingerprint_follows_the_file(network, tmp_path):
    before = fingerprint(Embedding(network))
    model = Embedding(network)
    model.transform(IMAGES)
    assert fingerprint(model) == before
    shutil.copy(convolution(tmp_path / "other.onnx", (1, 3, 12, 12)), network)
    assert model._prepare()[0].height == 12
    assert fingerprint(Embedding(network)) != before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 20}, r"size=20 is not the network's \[16, 16\]; use size=None"),
        ({"crop": 1.5}, "crop=1.5 must be a number above 0 and at most 1"),
        ({"mean": (0.5, 0.5)}, r"mean=\(0.5, 0.5\) must be 3 numbers, one for each channel"),
        ({"std": 0.0}, "std=0.0 must be 3 numbers"),
        ({"output": "logits"}, "output='logits' is not one of the network's outputs, 'means', 'maps'"),
    ],
)
def test_wrong_settings(network, settings, message):
    with pytest.raises(ValueError, match=message):
        Embedding(network, **settings).fit()


def test_wrong_networks(tmp_path, monkeypatch, network):
    with pytest.raises(ValueError, match="is not a file; give that of a network"):
        Embedding(tmp_path / "nowhere.onnx").transform(IMAGES)
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(ValueError, match="could not be loaded as a network"):
        Embedding(tmp_path / "text.onnx").transform(IMAGES)
    node = onnx.helper.make_node
    flat = save_network(tmp_path / "flat.onnx", [node("Identity", ["image"], ["same"])], ("n", 12), ["same"])
    with pytest.raises(ValueError, match=r"takes tensor\(float\) of shape \['n', 12\]; give a network for floats"):
        Embedding(flat).fit()
    many = convolution(tmp_path / "many.onnx", (8, 3, 16, 16))
    with pytest.raises(ValueError, match=r"of shape \[8, 3, 16, 16\]; give a network"):
        Embedding(many).fit()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r'pip install "nearboost\[onnx\]"'):
        Embedding(network).transform(IMAGES)


def test_in_a_model_file(network, tmp_path):
    """The network goes into the file with its hash; the path is needed no more."""
    from nearboost.models import load, save

    model = Embedding(network)
    rows = model.transform(IMAGES)
    save(model, tmp_path / "model.nb")
    network.unlink()
    loaded = load(tmp_path / "model.nb")
    np.testing.assert_array_equal(loaded.transform(IMAGES), rows)
    np.testing.assert_array_equal(clone(loaded).transform(IMAGES), rows)
    assert "Network('small.onnx', sha256=" in repr(loaded)
    assert len(repr(loaded)) < 300
    save(loaded, tmp_path / "again.nb")
    assert (tmp_path / "again.nb").read_bytes() == (tmp_path / "model.nb").read_bytes()


def test_fingerprint_of_a_network_at_hand(network, tmp_path):
    """Rows in a store are found again, wherever the network lies."""
    moved = shutil.copy(network, tmp_path / "moved.onnx")
    assert fingerprint(Embedding(network)) == fingerprint(Embedding(moved))
    assert fingerprint(Embedding(network)) == fingerprint(Embedding(Network.read(network)))


def test_network_that_is_not_whole(network, tmp_path):
    from nearboost.models import save

    changed = Network("small.onnx", network.read_bytes() + b"\0", Network.read(network).sha256)
    with pytest.raises(ValueError, match=r"The network small\.onnx does not fit its hash"):
        Embedding(changed).fit()
    onnx.save(onnx.load(network), tmp_path / "apart.onnx", save_as_external_data=True, size_threshold=0)
    with pytest.raises(ValueError, match=r"apart\.onnx keeps weights in files of their own"):
        save(Embedding(tmp_path / "apart.onnx"), tmp_path / "model.nb")
    assert not (tmp_path / "model.nb").exists()


def test_half_precision_in_a_model_file(tmp_path):
    from nearboost.models import load, save

    model = Embedding(convolution(tmp_path / "half.onnx", kind=HALF), output="maps", mean=0.5, std=0.25, crop=0.9)
    save(model, tmp_path / "model.nb")
    loaded = load(tmp_path / "model.nb")
    np.testing.assert_array_equal(loaded.transform(IMAGES), model.transform(IMAGES))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(loaded)).transform(IMAGES), model.transform(IMAGES))


@pytest.mark.parametrize(
    "given", ["/etc/hostname", {"name": "x", "content": "/etc/hostname"}, None, {"name": "x"}]
)
def test_a_model_file_names_no_path(network, tmp_path, given):
    from models.mutations import HEADER, members, with_header, written
    from nearboost.models import ModelFileError, load, save

    save(Embedding(network), tmp_path / "model.nb")
    contents = members(tmp_path / "model.nb")
    assert str(tmp_path).encode() not in b"".join(contents.values())
    header = json.loads(contents[HEADER])
    header["root"]["parameters"]["path_to_onnx"] = given
    written(tmp_path / "changed.nb", with_header(contents, header))
    with pytest.raises(ModelFileError, match="changed or damaged"):
        load(tmp_path / "changed.nb")


def field(number, content):
    """A field of Protocol Buffers that holds bytes or another message."""
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize("tag", [b"\x0a", b"\x8a\x00", b"\x8a\x80\x00"])
@pytest.mark.parametrize("length", [b"\x08", b"\x88\x00", b"\x88\x80\x80\x00"])
@pytest.mark.parametrize("value_first", [False, True])
def test_weights_elsewhere_however_they_are_spelt(tag, length, value_first):
    """Numbers may be written with more bytes than they need, and fields in any order."""
    key, value = tag + length + b"location", field(2, b"weights")
    content = field(7, field(5, field(13, value + key if value_first else key + value)))  # graph, tensor, entry
    [tensor] = onnx.load_from_string(content).graph.initializer
    assert tensor.external_data[0].key == "location"
    with pytest.raises(ValueError, match="keeps weights in files of their own"):
        Network("apart.onnx", content, hashlib.sha256(content).hexdigest()).check()


def test_limits_of_settings(network):
    with pytest.raises(
        ValueError, match="size=4096 must be a whole number of at least 1 and at most 2,048 or None"
    ):
        Embedding(network, size=4096).fit()
    with pytest.raises(ValueError, match=r"crop=0\.01 keeps too little of an image; use 0\.1 or more"):
        Embedding(network, crop=0.01).fit()


def test_strips_beyond_all_bounds(network):
    with pytest.raises(ValueError, match="Image 1 is 1 x 600000 pixels and would have to grow to"):
        Embedding(network, n_jobs=1).transform([IMAGES[0], np.zeros((600_000, 1), dtype=np.uint8)])


def test_a_mean_that_is_no_number(network):
    with pytest.raises(ValueError, match="mean=nan must be 3 numbers"):
        Embedding(network, mean=np.nan).fit()
