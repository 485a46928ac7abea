"""The cache of compiled kernels: never stale, never in the way."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nearboost
from nearboost.base import compiling

# A kernel of one file that has a function of another one inlined.
LOSS = """
from nearboost.kernels.losses import loss_value
from nearboost.base.loss_formulas import EXP
print(loss_value(EXP, 0.5))
"""
COMPILING, NO_CACHE = compiling.ANNOUNCEMENT, "compiled kernels cannot be kept"


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A copy of the package that has been run once, and what it said."""
    site = tmp_path_factory.mktemp("used") / "site"
    package = Path(nearboost.__file__).parent
    shutil.copytree(package, site / "nearboost", ignore=shutil.ignore_patterns("__pycache__"))
    return site, run(site)


@pytest.fixture
def site(used, tmp_path):
    """A copy that may be edited, kernels and all."""
    return Path(shutil.copytree(used[0], tmp_path / "site"))


def run(site, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHON", "XDG_"))}
    cache = {"XDG_CACHE_HOME": str(site / "cache"), "LOCALAPPDATA": str(site / "cache"), "HOME": str(site)}
    return subprocess.run(
        [sys.executable, "-B", "-c", LOSS], capture_output=True, text=True, timeout=200, check=False,
        env={**clean, **cache, "PYTHONPATH": str(site), **environment},
    )  # fmt: skip


def folders(site):
    return sorted(site.rglob("kernels-*"))


def test_a_change_in_another_file_reaches_kernels_that_inlined_it(used, site):
    before = used[1]
    assert COMPILING in before.stderr
    formulas = site / "nearboost" / "base" / "loss_formulas.py"
    formulas.write_text(formulas.read_text().replace("return np.exp(-margin)", "return 2.0 * np.exp(-margin)"))
    after = run(site)
    assert float(after.stdout) == 2 * float(before.stdout)
    assert len(folders(site)) == 2


def test_a_second_start_compiles_nothing(used, site):
    again = run(site)
    assert again.stdout == used[1].stdout
    assert again.stderr == ""
    assert not list((site / "nearboost").rglob("*.nb[ic]"))


def test_damaged_files_are_made_again(monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)

    def is_found():
        fresh = compiling.kernel(double)
        assert fresh(1.5) == 3.0
        return bool(fresh.stats.cache_hits)

    assert [is_found(), is_found()] == [False, True]
    for ending, kept in (("nbi", 0), ("nbi", -1), ("nbc", -1)):
        for file in tmp_path.glob(f"*.{ending}"):
            file.write_bytes(file.read_bytes()[:kept])
        assert [is_found(), is_found()] == [False, True]


def test_what_was_compiled_for_other_arguments_is_not_run(monkeypatch, tmp_path):
    """Two processes may give one file the same number, each for what it compiled: 1.5 was taken for 1."""
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    before = compiling.kernel(double)
    assert [before(1.5), before(1)] == [3.0, 2.0]
    first, second = sorted(tmp_path.glob("*.nbc"))
    first.write_bytes(second.read_bytes())
    for n_found in (0, 1):
        after = compiling.kernel(double)
        assert after(1.5) == 3.0
        assert sum(after.stats.cache_hits.values()) == n_found


def double(x):
    return 2.0 * x


def test_without_a_place_to_write_every_start_compiles_and_says_so_once(site):
    """Folders cannot be made below a file, whoever asks."""
    shutil.rmtree(site / "cache")
    (site / "cache").write_text("")
    (site / "nearboost" / "kernels" / "__pycache__").write_text("")
    done = run(site)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(NO_CACHE) == 1
    assert done.stderr.count(COMPILING) == 1
    assert not list(site.rglob("*.nb[ic]"))


def test_where_the_home_is_read_only_the_package_keeps_them(site):
    shutil.rmtree(site / "cache")
    (site / "cache").write_text("")
    assert COMPILING in run(site).stderr
    again = run(site)
    assert again.stderr == ""
    assert [folder.parent.name for folder in folders(site)] == ["__pycache__"]


def test_bounds_checks_get_a_folder_of_their_own(monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    without = compiling.fingerprint()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert compiling.fingerprint() != without


def test_a_folder_of_the_users_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    assert compiling.cache_folder.__wrapped__() == tmp_path / "mine" / f"kernels-{compiling.fingerprint()}"
    assert len(folders(tmp_path)) == 1


def test_folders_that_were_not_used_for_long_are_removed(tmp_path):
    for age in range(10):
        (tmp_path / f"kernels-{age}").mkdir()
        os.utime(tmp_path / f"kernels-{age}", (time.time() - age, time.time() - age))
    (tmp_path / "others").mkdir()
    compiling.remove_old_folders(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [*(f"kernels-{age}" for age in range(8)), "others"]
