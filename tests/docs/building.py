"""The modules that build the documentation, which are no package, and the public modules that they show."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ["nearboost", "nearboost.features", "nearboost.datasets", "nearboost.models", "nearboost.cells"]


def hook(name):
    """A module of ``docs_build``, loaded as mkdocs does: its folder comes first while it is read."""
    folder = ROOT / "docs_build"
    spec = spec_from_file_location(name, folder / f"{name}.py")
    module = module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module
