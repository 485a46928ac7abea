"""The diagram of an estimator leads to its page where there is a site, and nowhere else."""

import html
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearboost
from nearboost import KNNClassifier, N3Classifier, features
from nearboost.base import estimator
from nearboost.ensemble.calibrated import CalibratedScores

PAGE = "https://docs.example/generated/api/nearboost.N3Classifier.html"
EVERY = [
    (package.__name__, name)
    for package in (nearboost, features)
    for name in package.__all__
    if isinstance(getattr(package, name), type) and issubclass(getattr(package, name), BaseEstimator)
]


def links_of(shown):
    return [html.unescape(link) for link in re.findall(r'href="([^"]*)"', shown._repr_html_())]


@pytest.fixture
def somewhere(monkeypatch):
    monkeypatch.setenv("NEARBOOST_DOCS", "https://docs.example/")


@pytest.mark.usefixtures("somewhere")
def test_diagrams_link_to_the_page_of_a_class():
    assert PAGE in links_of(N3Classifier())
    [ours] = [
        link for link in links_of(make_pipeline(StandardScaler(), KNNClassifier())) if "docs.example" in link
    ][:1]
    assert ours.split("#")[0] == PAGE.replace("N3Classifier", "KNNClassifier")


@pytest.mark.usefixtures("somewhere")
@pytest.mark.parametrize(("package", "name"), EVERY)
def test_every_estimator_has_a_page(package, name):
    blank = object.__new__(getattr(__import__(package, fromlist=[name]), name))  # whatever its parameters are
    assert blank._get_doc_link() == f"https://docs.example/generated/api/{package}.{name}.html"
    assert (Path(__file__).parents[2] / "docs" / "api.md").read_text().count(f"   {name}\n") == 1


@pytest.mark.usefixtures("somewhere")
def test_what_has_no_page_has_no_link():
    class Own(N3Classifier):
        pass

    assert CalibratedScores(KNNClassifier())._get_doc_link() == ""
    assert Own()._get_doc_link() == ""


def test_a_folder_is_opened_as_such(monkeypatch, tmp_path):
    monkeypatch.setenv("NEARBOOST_DOCS", str(tmp_path / "the {site}"))
    assert N3Classifier()._get_doc_link() == (
        (tmp_path / "the {site}").as_uri() + "/generated/api/nearboost.N3Classifier.html"
    )


def test_a_checkout_is_asked_for_its_own_site(monkeypatch, tmp_path):
    monkeypatch.delenv("NEARBOOST_DOCS", raising=False)
    monkeypatch.setattr(estimator, "CHECKOUT", tmp_path)
    assert N3Classifier()._get_doc_link() == ""
    assert not any("nearboost" in link for link in links_of(N3Classifier()))
    (tmp_path / "index.html").touch()
    assert N3Classifier()._get_doc_link() == f"{tmp_path.as_uri()}/generated/api/nearboost.N3Classifier.html"
