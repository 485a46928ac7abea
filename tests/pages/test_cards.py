"""Cards, on the page of suspects: pictures with their names, and text that is only text."""

import io

import pytest
from PIL import Image

from compare.reading import Page
from nearboost.base.image_set import data_address
from nearboost.models.suspects import Findings, Suspect, is_suspects_page, suspects_page
from nearboost.pages.rendering import Card


@pytest.fixture
def picture():
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG")
    return file.getvalue()


def test_page_of_cards(picture):
    suspects = [
        Suspect("a/b<i>.png", "x & y", "z", 0.125, 0.75, 0.625, picture),
        Suspect("row 3", "z", "x & y", 0.25, 0.5, 0.375, None),
    ]
    html = suspects_page(Findings(suspects, 5, 40, 50, 1, 0.625), "model <b>.nb")
    assert is_suspects_page(html)
    page = Page(html)
    assert page.all("h1")[0]["text"] == page.all("title")[0]["text"] == "Suspects of model <b>.nb"
    (image,) = page.all("img")
    assert image["attributes"]["src"] == data_address(picture)
    assert image["attributes"]["alt"] == "a/b<i>.png"
    assert [element["text"] for element in page.all("p", class_="name")] == ["a/b<i>.png", "row 3"]
    told = [element["text"] for element in page.all("dd")]
    assert told == ["x & y 12.5%", "z 75.0%", "62% probable", "z 25.0%", "x & y 50.0%", "38% probable"]
    assert [element["attributes"]["width"] for element in page.all("rect", class_="filled")] == ["62.5", "37.5"]
    (lead,) = page.all("p", class_="headline")
    assert lead["text"].startswith("40 of 50 training items were judged")
    assert "The votes on 5 of them disagree with the label; the first 2 are here" in lead["text"]
    assert (
        "the first is likely wrong, with a probability of about 62%; the others are hard rather than mislabelled"
        in lead["text"]
    )


@pytest.mark.parametrize(
    ("n_shown", "n_found", "n_likely", "told"),
    [
        (
            1,
            1,
            0,
            (
                "The vote on 1 of them disagrees with the label; it is here. By the probabilities of all labels, "
                "none is more likely wrong than right; it is hard rather than mislabelled."
            ),
        ),
        (
            1,
            1,
            1,
            (
                "it is here. By the probabilities of all labels, the first is likely wrong, with a probability of "
                "about 62%."
            ),
        ),
        (
            1,
            3,
            2,
            (
                "the first is here. By the probabilities of all labels, the first 2 are likely wrong, about 62% "
                "of them; the other is hard rather than mislabelled."
            ),
        ),
        (
            2,
            2,
            0,
            (
                "all are here, the least probable label first. By the probabilities of all labels, none is more "
                "likely wrong than right; they are hard rather than mislabelled."
            ),
        ),
    ],
)
def test_words_fit_the_number_of_suspects(n_shown, n_found, n_likely, told):
    one = Suspect("row 3", "z", "x", 0.25, 0.5, 0.375, None)
    findings = Findings([one] * n_shown, n_found, 40, 50, n_likely, 0.625 if n_likely else None)
    (lead,) = Page(suspects_page(findings, "model.nb")).all("p", class_="headline")
    assert lead["text"].endswith(told)


def test_page_without_cards():
    page = Page(suspects_page(Findings([], 0, 40, 50, 0, None), "model.nb"))
    assert page.all("p", class_="headline")[0]["text"].endswith("No held-out vote disagrees with a label.")
    assert not page.all("li")


def test_long_names_keep_their_end():
    card = Card("x" * 100 + "/end.png")
    assert card.short_name == "…" + "x" * 51 + "/<wbr>end.png"
