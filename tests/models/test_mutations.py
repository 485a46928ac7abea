"""Files changed at random, with fitting checksums: each is refused in one sentence, or answers.

No signal, no other exception, no answer over 20 s, no memory over four times that of the largest sound file.
"""

import pytest

from models.mutations import run
from models.seeds import write_seeds


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return write_seeds(tmp_path_factory.mktemp("seeds"))


def assert_well_behaved(n_files, seed, seeds, folder):
    counts, bad = run(n_files, seed, seeds, folder)
    assert not bad
    assert counts.total() == n_files
    assert min(counts["refused"], counts["answered"]) > n_files / 50  # both happen, or little was tried


def test_a_few_hundred(seeds, tmp_path):
    assert_well_behaved(500, 0, seeds, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_fifty_thousand(seeds, tmp_path, seed):
    assert_well_behaved(5_000, seed, seeds, tmp_path)
