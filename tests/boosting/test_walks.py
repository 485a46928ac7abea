"""One way through the package: a fit, an answer and a report run through few files."""

from benchmarks.walks import walks


def test_files_on_the_way():
    found = walks()
    assert len(found["fit"]) <= 20, found["fit"]
    assert len(found["predict"]) <= 15, found["predict"]
    assert len(found["predict_proba"]) <= 15, found["predict_proba"]  # queries are validated as in predict
    assert len(found["compare"]) <= 75, found["compare"]
    assert "neighbors/search.py" in found["predict"]  # the look is not blind
