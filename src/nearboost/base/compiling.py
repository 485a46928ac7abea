"""How kernels are compiled: each once per machine when it is first used, cached, announced in one line.

numba keeps the compiled code beside the sources; where that folder is not writable it falls back to
a cache folder of the user's. Only the kernels import this module, because importing numba takes most
of a second.
"""

import logging
from typing import Any

import numba
from numba.core import event

logger = logging.getLogger("nearboost")

# Another method needs other kernels, so people may see this more than once: it is true each time.
ANNOUNCEMENT = "nearboost: compiling kernels that were not needed here before; this takes about 10 seconds."


class _AnnounceFirstCompilation(event.Listener):
    """numba reports compilations only, never of functions loaded from the cache."""

    def __init__(self) -> None:
        self.announced = False

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""  # None for functions made by exec
        if not self.announced and module.startswith("nearboost."):
            self.announced = True
            logger.warning(ANNOUNCEMENT)

    def on_end(self, event: event.Event) -> None:
        """The work that follows shows that compilation is over."""


event.register("numba:compile", _AnnounceFirstCompilation())


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a bare loop with numba: cached on disk, with the GIL released."""
    compiled = numba.njit(cache=True, nogil=True, **options)
    return compiled if function is None else compiled(function)
