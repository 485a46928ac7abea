"""``nearboost suspects``: planted mistakes are found, and the page is safe."""

import csv

import pytest
from PIL import Image

from cli.calling import answer, call, refused
from cli.made import image_folder, texture
from nearboost.cli.common import Exit


@pytest.fixture
def mislabelled(tmp_path):
    """Three stripes among the waves, and names that a page must not take for its own."""
    data = image_folder(tmp_path / "pictures", 16, divided=False, broken=False)
    for seed in range(50, 53):
        Image.fromarray(texture("stripes", seed)).save(data / "waves" / f"<b>&{seed}.png")
    (data / "dots").rename(data / "dots <script>alert(1)</script>".replace("/", "_"))
    return data


def test_suspects_of_the_file(mislabelled, tmp_path):
    model, page = tmp_path / "model.nb", tmp_path / "suspects.html"
    assert call("fit", mislabelled, "--out", model, "--method", "unn:n_neighbors=5").code == Exit.DONE
    found = answer("suspects", model, "--out", page)
    assert found["judged"] == 51
    planted = [one for one in found["suspects"][:5] if "&5" in one["name"]]
    assert len(planted) == 3
    assert all(one["label"] == "waves" and one["said"] == "stripes" for one in planted)
    text = page.read_text()
    assert "waves/<wbr>&lt;b&gt;&amp;50.png" in text
    assert text.count("<script") == 1  # the page's own
    assert "dots &lt;script&gt;alert(1)" in text or not any("script" in str(one) for one in found["suspects"])
    assert "http" not in text.replace("http-equiv", "")
    assert text.count("data:image/jpeg;base64,") == len(found["suspects"])
    lines = list(csv.DictReader((tmp_path / "suspects.csv").open()))
    assert lines == [{name: str(value) for name, value in one.items()} for one in found["suspects"]]
    assert len(lines) == found["found"]
    said = call("suspects", model, "--out", page, "--most", 2).out
    assert said.startswith(f"Page: {page} (the worst 2 of {found['found']} suspects of 51 judged items; ")
    assert "the first 2 are here" in page.read_text()
    assert found["likely_wrong"] == sum(one["probability_wrong"] > 0.5 for one in found["suspects"])
    assert (found["share_wrong"] is None) == (found["likely_wrong"] == 0)
    owns = [one["probability_of_label"] for one in found["suspects"]]
    assert owns == sorted(owns)


def test_suspects_in_data(mislabelled, tmp_path):
    model, page = tmp_path / "model.nb", tmp_path / "suspects.html"
    assert call("fit", mislabelled, "--out", model, "--method", "rbf-svm").code == Exit.DONE
    assert refused("suspects", model).endswith("give them with --data.")
    found = answer("suspects", model, "--data", mislabelled, "--out", page)
    assert sum("&5" in one["name"] for one in found["suspects"][:6]) >= 2
    assert found["skipped"] == {}
    (mislabelled / "waves/broken.png").write_bytes(b"no image")
    assert list(answer("suspects", model, "--data", mislabelled, "--out", page)["skipped"]) == ["waves/broken.png"]
    assert "data:image/jpeg" in page.read_text()
    said = refused("suspects", model, "--data", mislabelled, "--out", tmp_path / "a.csv", code=Exit.USAGE)
    assert "ends in .html" in said


def test_suspects_among_rows(vectors, tmp_path):
    found = answer("suspects", vectors.model, "--out", tmp_path / "suspects.html")
    assert found["judged"] == 150
    assert "<img" not in (tmp_path / "suspects.html").read_text()
