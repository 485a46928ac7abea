"""How kernels are compiled: each once per machine when it is first used, cached, announced in one line.

numba stamps each cached function with its own file alone, so machine code that inlined a function of another file
would survive a change of that file. Here the cache lies in a folder named after a hash of everything that kernels
are made of. Only the kernels import this module, because importing numba takes most of a second.
"""

import hashlib
import logging
import os
import pickle
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core import caching, event

logger = logging.getLogger("nearboost")

# Another method needs other kernels, so people may see this more than once: it is true each time.
ANNOUNCEMENT = "nearboost: compiling kernels that were not needed here before; this takes about 10 seconds."
NO_CACHE = (
    "nearboost: compiled kernels cannot be kept, because neither the user's cache folder nor the package's can be "
    "written to; every start compiles anew. Set NUMBA_CACHE_DIR to a folder of your own."
)
PACKAGE = Path(__file__).parent.parent
KEPT_FOLDERS = 8  # one for each version or environment in use; the least recently used go


class _AnnounceFirstCompilation(event.Listener):
    """numba tells of compilations only, never of functions loaded from the cache."""

    def __init__(self) -> None:
        self.announced = False

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""  # None for functions made by exec
        if not self.announced and module.startswith("nearboost."):
            self.announced = True
            logger.warning(ANNOUNCEMENT)

    def on_end(self, event: event.Event) -> None:
        """Nothing to say: the work that follows tells that compilation is over."""


event.register("numba:compile", _AnnounceFirstCompilation())


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a bare loop with numba: cached on disk, with the GIL released."""
    if function is None:
        return lambda function: kernel(function, **options)
    compiled = numba.njit(nogil=True, **options)(function)
    if cache_folder() is not None:
        compiled._cache = _KernelCache(function)
    return compiled


@cache
def cache_folder() -> Path | None:
    """The folder of compiled kernels that belongs to these sources; None where none can be written to."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    roots = [Path(given)] if given else [user_cache() / "nearboost", PACKAGE / "kernels" / "__pycache__"]
    for root in roots:
        folder = root / f"kernels-{fingerprint()}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # cached code is run: nobody else writes here
            with tempfile.TemporaryFile(dir=folder):
                os.utime(folder)
        except OSError:
            continue
        remove_old_folders(root)
        return folder
    logger.warning(NO_CACHE)
    return None


def fingerprint() -> str:
    """A hash of all that compiled kernels depend on: sources, numba, Python, processor and bounds checks."""
    sources = [*sorted((PACKAGE / "kernels").glob("*.py")), Path(__file__), PACKAGE / "base" / "loss_formulas.py"]
    processor, checks = llvmlite.binding.get_host_cpu_name(), os.environ.get("NUMBA_BOUNDSCHECK")
    state = (numba.__version__, sys.version, processor, checks)
    digest = hashlib.sha256(repr(state).encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def user_cache() -> Path:
    """Where programs keep what can be made again, as each system has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())


def remove_old_folders(root: Path) -> None:
    """Keep the folders that were used last."""
    folders = [folder for folder in root.glob("kernels-*") if folder.is_dir()]
    for folder in sorted(folders, key=_last_use, reverse=True)[KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)


def _last_use(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process was faster
        return 0.0


class _InFolder(caching.UserProvidedCacheLocator):
    """Puts compiled functions into the folder of these sources."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = str(cache_folder())

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_InFolder":
        return cls(function, file)


class _Results(caching.CompileResultCacheImpl):
    _locator_classes = [_InFolder]  # noqa: RUF012  (as numba declares it)


class _KernelCache(caching.FunctionCache):
    """A cache that is a convenience: what is damaged is made again, and a full disk is no error."""

    _impl_class = _Results

    def load_overload(self, signature: Any, *args: Any) -> Any:
        try:
            found = super().load_overload(signature, *args)
        except (EOFError, pickle.UnpicklingError, ValueError, OSError, RuntimeError, AttributeError, IndexError):
            found = None
        else:  # processes that compile at the same time may have written to files of the same number
            if found is None or tuple(found.signature.args) == tuple(signature):
                return found
        self._discard()
        return None

    def save_overload(self, *args: Any) -> None:
        try:
            super().save_overload(*args)
        except (EOFError, pickle.UnpicklingError, ValueError):  # a damaged index that nothing was loaded from
            self._discard()
        except OSError:
            self.disable()

    def _discard(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()
