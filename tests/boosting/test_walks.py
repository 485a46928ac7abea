"""One way through the package: a fit, an answer and a report run through few files."""

from benchmarks.walks import walks


def test_files_on_the_way():
    found = walks()
    # base/rows.py and base/outputs.py, which all estimators read blocks and write answers by, are two of them.
    assert len(found["fit"]) <= 21, found["fit"]
    assert len(found["predict"]) <= 17, found["predict"]
    assert len(found["predict_proba"]) <= 17, found["predict_proba"]  # queries are validated as in predict
    assert len(found["compare"]) <= 77, found["compare"]
    assert "neighbors/search.py" in found["predict"]  # the look is not blind
