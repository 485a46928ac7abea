"""Start-up: a light import, an installation nobody may write to, one line about compiling."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nearboost

SEARCH = """
import numpy as np
from nearboost.neighbors import NeighborSearch
X = np.random.default_rng(0).normal(size=(30, 2))
print(NeighborSearch(X).search(X, 3).indices.shape)
"""
EACH_FIRST = """
import os, sys
from importlib import import_module
from pathlib import Path
import numba, scipy.sparse, sklearn.base, sklearn.utils.validation  # once for all
import nearboost
root = Path(nearboost.__file__).parent
for file in sorted(root.rglob("*.py")):
    name = ".".join(file.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
    if file.stem != "__main__" and not os.fork():
        try:
            import_module(name)
        except ImportError as error:
            if "circular" in str(error):
                print(name, error, flush=True)
        os._exit(0)
    elif file.stem != "__main__":
        os.wait()
"""
NO_WAY_TO_WRITE = """
import os, tempfile, nearboost
try:
    tempfile.TemporaryFile(dir=os.path.dirname(nearboost.__file__))
except OSError:
    pass
else:
    raise SystemExit("the folder can be written to")
"""
DROP_CAPABILITY, MAY_IGNORE_MODES = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE of Linux


def obey_modes():
    """Root obeys file modes like anybody else, but may still read its own Python, which nobody else may."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(DROP_CAPABILITY, MAY_IGNORE_MODES, 0, 0, 0)


def run(code, before=None, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHONPATH"))}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**clean, **environment}, timeout=200,
        preexec_fn=before,
    )  # fmt: skip


def test_import_is_light():
    done = run("import nearboost, sys; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "nearboost" in loaded
    assert not loaded & {"numba", "faiss", "sklearn", "matplotlib", "cv2", "torch", "scipy"}


def test_the_tasks_of_workers_import_what_they_need():
    """A worker may be asked for any of them first."""
    for module in ("linear.coordinates", "neighbors", "models", "features.extraction"):
        done = run(f"import nearboost.{module}")
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_any_module_may_be_imported_first():
    done = run(EACH_FIRST)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_names_are_found_when_asked_for():
    assert set(nearboost.__all__) <= set(dir(nearboost))
    for name in nearboost.__all__:
        assert getattr(nearboost, name).__name__ == name
    done = run("import nearboost; nearboost.Nonsense")
    assert "has no attribute 'Nonsense'" in done.stderr


def test_an_installation_nobody_may_write_to(tmp_path):
    """The compiled code goes to the user's cache folder, is announced once, and is found again."""
    package = tmp_path / "site" / "nearboost"
    shutil.copytree(Path(nearboost.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [package.parent, *package.parent.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    home = tmp_path / "home"
    home.mkdir()
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n{NO_WAY_TO_WRITE}{SEARCH}"
    code += "print(nearboost.__file__)"
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    line = "nearboost: compiling kernels that were not needed here before"
    first = run(code, obey_modes, **environment)
    assert first.returncode == 0, first.stderr
    assert "(30, 3)" in first.stdout
    assert str(package) in first.stdout
    assert first.stderr.count(line) == 1
    assert list(home.rglob("*.nbi"))
    assert not list(package.rglob("*.nbi"))
    second = run(code, obey_modes, **environment)
    assert second.returncode == 0, second.stderr
    assert second.stdout == first.stdout
    assert line not in second.stderr
