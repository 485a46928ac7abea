"""Names like one that is not known."""

from difflib import SequenceMatcher

from nearboost.base.words import near_names


def test_a_typo_among_many_names_compares_few_letter_by_letter(monkeypatch):
    names = [f"train/class{i % 100}/picture_{i:06}.jpg" for i in range(50_000)]
    compared = []
    ratio = SequenceMatcher.ratio
    monkeypatch.setattr(SequenceMatcher, "ratio", lambda self: compared.append(1) or ratio(self))
    assert near_names("train/class7/pictur_000107.jpg", names)[0] == "train/class7/picture_000107.jpg"
    assert 0 < len(compared) <= 100  # twice each


def test_names_unlike_all_others_have_none():
    assert near_names("zzz", ["a/1.png", "b/2.png"]) == []
