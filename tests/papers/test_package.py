"""The papers stand outside the library: it never imports them, and its wheel does not hold them."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_library_does_not_import_the_papers():
    for file in (ROOT / "src").rglob("*.py"):
        imports = re.findall(r"^\s*(?:from|import) (papers|benchmarks)\b", file.read_text(encoding="utf-8"), re.M)
        assert not imports, file


def test_the_wheel_holds_the_library_alone():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"] == {"packages": ["src/nearboost"]}
