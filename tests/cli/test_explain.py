"""``nearboost explain``: voters that add up to the score, as a picture or a table."""

import numpy as np
import pytest
from PIL import Image

from cli.calling import answer, call, refused
from nearboost.cli.common import Exit
from nearboost.models import drawing, load_model
from nearboost.models.drawing import lacks, legible
from nearboost.models.explanation import Vote, Voter


def test_explain_image(images, tmp_path):
    item = images.data / "test/stripes/13.png"
    vote = answer("explain", images.model, item, "--out", tmp_path / "voters.png")
    assert vote["picture"] == str(tmp_path / "voters.png")
    with Image.open(tmp_path / "voters.png") as picture:
        assert picture.format == "PNG"
        colors = {color for _, color in picture.convert("RGB").getcolors(2**20)}
    assert (0x1F, 0x6F, 0xB4) in colors  # a bar of votes for the class
    model = load_model(images.model)
    rows = model.describe([str(item)]).rows
    score = model.classifier.decision_function(rows)[0, model.classes.index(vote["about"])]
    assert vote["score"] == pytest.approx(score)
    assert vote["name"] == str(item)
    assert sum(voter["vote"] for voter in vote["voters"]) == pytest.approx(score)
    sizes = [abs(voter["vote"]) for voter in vote["voters"]]
    assert sizes == sorted(sizes, reverse=True)
    assert all(voter["name"].split("/")[1] == voter["label"] for voter in vote["voters"])


def test_explain_about_another_class(images, tmp_path):
    item = images.data / "test/stripes/13.png"
    out = tmp_path / "voters.png"
    vote = answer("explain", images.model, item, "--about", "waves", "--out", out)
    assert vote["said"] != vote["about"] == "waves"
    assert vote["probability"] is None
    assert sum(voter["vote"] for voter in vote["voters"]) < 0
    assert "has no class 'clouds'" in refused("explain", images.model, item, "--about", "clouds", "--out", out)
    out = tmp_path / "voters.txt"
    assert "ends in .png" in refused("explain", images.model, item, "--out", out, code=Exit.USAGE)
    assert "not an image" in refused("explain", images.model, images.data / "train/dots/broken.png")
    assert "is a folder; give one image" in refused("explain", images.model, images.data)


@pytest.mark.parametrize("method", ["n3", "n3:n_prototypes=0.3:prototypes=centroids", "innc", "src"])
def test_explain_rows(vectors, tmp_path, method):
    model = tmp_path / "model.nb"
    assert call("fit", vectors.data, "--method", method, "--out", model).code == Exit.DONE
    vote = answer("explain", model, vectors.data / "X.npy", "--row", 3)
    assert vote["picture"] is None
    labels = np.load(vectors.data / "y.npy")
    for voter in vote["voters"]:
        assert voter["name"] == f"row {voter['row']}"
        assert voter["label"] == labels[voter["row"]]
    printed = call("explain", model, vectors.data / "X.npy", "--row", 3, "--most", 2).out
    assert ("centroids, each told by the item nearest to it" in printed) == ("centroids" in method)
    assert f"Said: {vote['said']}" in printed
    assert printed.startswith("Item: row 3\n")
    assert vote["name"] == "row 3"
    lines = printed.splitlines()
    assert lines[3].startswith("A vote is ")
    assert len(lines) == 5 + min(2, len(vote["voters"]))
    assert "has 150 rows" in refused("explain", model, vectors.data / "X.npy", "--row", 150)
    no_picture = "explain", model, vectors.data / "X.npy", "--out", tmp_path / "voters.png"
    assert "the voters of a row are printed" in refused(*no_picture, code=Exit.USAGE)


def test_explain_two_classes(tmp_path):
    """One column of scores stands for both: votes for the first class are those against the second."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (30, 2)), rng.normal(3, 1, (30, 2))])
    np.savez(tmp_path / "two.npz", X=X, y=np.repeat(["low", "high"], 30))
    model = tmp_path / "model.nb"
    assert call("fit", tmp_path / "two.npz", "--method", "n3", "--out", model).code == Exit.DONE
    np.save(tmp_path / "X.npy", np.array([[0.0, 0.0]]))
    low, high = (answer("explain", model, tmp_path / "X.npy", "--about", name) for name in ("low", "high"))
    assert low["said"] == "low"
    assert sum(voter["vote"] for voter in low["voters"]) > 0
    assert [voter["vote"] for voter in high["voters"]] == [-voter["vote"] for voter in low["voters"]]
    score = load_model(model).classifier.decision_function(np.array([[0.0, 0.0]]))[0]
    assert load_model(model).classes == ("high", "low")
    assert low["score"] == pytest.approx(score) == pytest.approx(-high["score"])


@pytest.mark.parametrize("method", ["unn:n_prototypes=12", "mapboost", "innc", "src", "src:decision=residual"])
def test_score_is_what_the_classifier_compares(vectors, tmp_path, method):
    model = tmp_path / "model.nb"
    assert call("fit", vectors.data, "--method", method, "--out", model).code == Exit.DONE
    vote = answer("explain", model, vectors.data, "--row", 5, "--about", "two")
    scores = load_model(model).classifier.decision_function(np.load(vectors.data / "X.npy")[5:6])
    assert vote["score"] == pytest.approx(scores[0, 2])


@pytest.mark.parametrize("method", ["innc:decision=residual", "src:decision=residual"])
def test_scores_of_distances_are_told(vectors, tmp_path, method):
    model = tmp_path / "model.nb"
    assert call("fit", vectors.data, "--method", method, "--out", model).code == Exit.DONE
    printed = call("explain", model, vectors.data, "--row", 5).out
    assert "; the score is minus the distance between the item and the class's sum." in printed


def test_who_voted_is_counted():
    """Neighbours that add nothing are no voters."""
    voters = [Voter(i, f"row {i}", "a", vote, None) for i, vote in enumerate((0.5, -0.2, 0.0))]
    vote = Vote("x", "a", 0.9, "a", 0.3, voters)
    assert vote.summary(24) == "All voters: 2; neighbours without a vote: 1"
    assert vote.summary(1) == "The 1 strongest of 2 voters; neighbours without a vote: 1"
    assert Vote("x", "a", 0.9, "a", 0.3, voters[:2]).summary(2) == "All voters: 2"


@pytest.mark.parametrize("text", ["naïve", "море", "海", "\U00011abc"])
def test_names_are_never_boxes(text):
    written, font = legible(f"Said {text}", 14)
    assert not any(lacks(font, letter) for letter in written)
    assert written in (f"Said {text}", f"Said {text}".encode("ascii", "backslashreplace").decode())


def test_letters_that_no_font_has_are_spelled(monkeypatch):
    monkeypatch.setattr(drawing, "FONTS", ())
    assert legible("海 море", 14)[0] == "\\u6d77 \\u043c\\u043e\\u0440\\u0435"
    assert lacks(legible("a", 14)[1], "海")


def test_names_of_several_lines_are_drawn_in_one(images, tmp_path):
    assert legible("a\nb\x85\u2028\udcff", 14)[0] == "a\\nb\\x85\\u2028\\udcff"
    picture = tmp_path / "new\nline.png"
    picture.write_bytes((images.data / "test/dots/12.png").read_bytes())
    assert call("explain", images.model, picture, "--out", tmp_path / "why.png").code == Exit.DONE


def test_one_strange_letter_does_not_cost_the_others(monkeypatch):
    has = {"å", "n", "g", "s", "t", "r", "ö", "m", " "}
    monkeypatch.setattr(drawing, "lacks", lambda font, letter: letter not in has)
    assert legible("ångström 海", 14)[0] == "ångström \\u6d77"
    apart = "a\u030angstro\u0308m"  # letters and accents, as some systems write names
    assert legible(apart, 14)[0] == "ångström"


def test_neighbours_that_vote_alike(vectors, tmp_path):
    """The shares of k-NN: for their own class, against every other."""
    model = tmp_path / "knn.nb"
    assert call("fit", vectors.data, "--out", model, "--method", "knn:n_neighbors=5").code == Exit.DONE
    vote = answer("explain", model, vectors.data, "--row", 3)
    assert {voter["vote"] for voter in vote["voters"] if voter["label"] == vote["about"]} == {0.2}
    assert all(voter["vote"] == -0.2 for voter in vote["voters"] if voter["label"] != vote["about"])
    assert vote["score"] == pytest.approx(sum(voter["vote"] for voter in vote["voters"] if voter["vote"] > 0))
    other = answer("explain", model, vectors.data, "--row", 3, "--about", "two")
    assert sum(voter["vote"] for voter in other["voters"]) < 1
    assert "A vote is a neighbour's share of all" in call("explain", model, vectors.data).out
