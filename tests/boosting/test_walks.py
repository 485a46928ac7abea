"""One way through the package: a fit, an answer and a report run through few files."""

from benchmarks.walks import walks


def test_files_on_the_way():
    found = walks()
    # Reading rows and writing answers in blocks are files of base, as is the question whether rows are a tensor; a
    # search is a method (exact.py), rows as it sees them, how it measures, and who may vote on whom.
    assert len(found["fit"]) <= 25, found["fit"]
    assert len(found["predict"]) <= 20, found["predict"]
    assert len(found["predict_proba"]) <= 20, found["predict_proba"]  # queries are validated as in predict
    assert len(found["compare"]) <= 82, found["compare"]
    assert "neighbors/search.py" in found["predict"]  # the look is not blind
