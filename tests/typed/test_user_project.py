"""A user's project that is checked strictly knows the types of an installed nearboost."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment in which this nearboost is installed beside what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    # What a .pth file names is not searched for such files: an editable install of another checkout is not seen.
    Path(paths["purelib"], "here.pth").write_text(f"{SOURCE}\n{sysconfig.get_path('purelib')}\n")
    return Path(paths["scripts"], "python.exe" if sys.platform == "win32" else "python")


def check(project, python, tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={python}"]
    command += [f"--cache-dir={tmp_path / 'cache'}", str(project)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENVIRONMENT)


def test_strict_project_passes(installed, tmp_path):
    done = check(HERE / "user_project.py", installed, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_those_of_this_checkout(installed):
    code = "import nearboost; print(nearboost.__file__)"
    done = subprocess.run(
        [installed, "-c", code], capture_output=True, text=True, check=True, timeout=60, env=ENVIRONMENT
    )
    assert Path(done.stdout.strip()) == SOURCE / "nearboost" / "__init__.py"
    assert (SOURCE / "nearboost" / "py.typed").exists()
