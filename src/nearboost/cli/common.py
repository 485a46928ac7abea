"""What all commands share: exit codes, errors as one sentence, and where text and JSON go."""

import errno
import io
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import wraps
from typing import Annotated, Any

import typer

from nearboost.base.disk import is_full
from nearboost.base.errors import UsageError
from nearboost.base.words import printable

Force = Annotated[bool, typer.Option("--force", help="Replace what exists under the name of the output.")]
SILENT = logging.NullHandler()


class _Told(logging.Handler):
    """What the library logs, such as that kernels are compiled, as a line for people."""

    def emit(self, record: logging.LogRecord) -> None:
        notify(record.getMessage())


TOLD = _Told()


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTLY = 3  # done, with skipped files or failed runs
    INTERRUPTED = 130


def command(run: Callable[..., Exit | None]) -> Callable[..., None]:
    """A function as a command: what it returns is the exit code, and a user's mistake is one sentence.

    The library's errors are sentences already. With ``NEARBOOST_DEBUG`` set, the traceback is shown as well.
    """

    @wraps(run)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            with _warnings_as_notes():
                code = run(*args, **kwargs)
        except KeyboardInterrupt:
            notify("Interrupted; what was finished is kept, and nothing half done was written.")
            code = Exit.INTERRUPTED
        except BrokenPipeError:  # whoever reads the output, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = Exit.DONE
        except (ValueError, OSError, ImportError, MemoryError) as error:
            if os.environ.get("NEARBOOST_DEBUG"):
                raise
            notify(f"Error: {_sentence(error)}")
            code = Exit.USAGE if isinstance(error, UsageError) else Exit.FAILED
        raise typer.Exit(code or Exit.DONE)

    return guarded


def _sentence(error: Exception) -> str:
    """What went wrong; the system's errors have a number and no verb."""
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "A file would be larger than may be here; raise its limit (ulimit -f), or write to another disk."
    if is_full(error):
        return "The disk is full; make room on it, then call the command again. What was finished is kept."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename} cannot be read or written: {error.strerror}."
    return str(error) or type(error).__name__


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """What the library warns of is a sentence for people, not a place in its source."""
    logging.getLogger().addHandler(SILENT)  # or what other libraries log of broken files is printed beside it
    logging.getLogger("nearboost").addHandler(TOLD)
    with warnings.catch_warnings():

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                notify(f"Note: {message}")

        warnings.showwarning = show
        yield


def unfailing_output() -> None:
    """Letters that the encoding of standard output lacks are spelled; what is closed takes what it is given."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (until the end)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def notify(text: str) -> None:
    """A line for people, on standard error, so that standard output stays clean for tables and JSON."""
    print(printable(text), file=sys.stderr)  # noqa: T201


def echo(text: str) -> None:
    """A result, on standard output; in files and pipes texts stand as they are, as far as they are text."""
    shown = printable(text) if sys.stdout.isatty() else text.encode("utf-8", "backslashreplace").decode("utf-8")
    print(shown, flush=True)  # noqa: T201  (now, so that a closed pipe is noticed here)


def echo_json(result: Any) -> None:
    """A result for programs."""
    encoding = sys.stdout.encoding or "utf-8"  # a buffer of text has none
    whole = encoding.lower().startswith("utf")  # of others, `unfailing_output` would break the JSON
    echo(json.dumps(result, indent=2, ensure_ascii=not whole, allow_nan=False))


def progress() -> int:
    """Whether progress bars are shown: only to people who look at them."""
    return int(sys.stderr.isatty())


def echo_table(table: Any) -> None:
    """A table of rich as a result: as wide as the terminal; in a file or a pipe wide enough for all columns."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 160).print(table)


def report_change(found: dict[str, Any]) -> str:
    """What `add` or `forget` did to a model, in lines."""
    before, after = found["before"], found["after"]
    items = f"{after['items']} items of {len(after['classes'])} classes, before {before['items']}"
    lines = [f"Model: {found['model']} ({items} of {len(before['classes'])})"]
    for what, some, others in (("New classes", after, before), ("Classes that are gone", before, after)):
        names = [name for name in some["classes"] if name not in others["classes"]]
        if names:
            lines.append(f"{what}: {', '.join(names)}")
    if after["held_out_accuracy"] is not None and before["held_out_accuracy"] is not None:
        lines.append(
            f"Held-out accuracy {after['held_out_accuracy']:.1%}, before {before['held_out_accuracy']:.1%}"
        )
    if after["prototypes"] is not None:
        counts = f"Prototypes {after['prototypes']}, before {before['prototypes']}"
        lines.append(f"{counts}: {found['gained']} gained, {found['lost']} lost")
    return "\n".join(lines)


def report_skipped(skipped: dict[str, str], most: int = 10) -> Exit:
    """The items that were left out, as far as they are few; and the exit code that says so."""
    for name, why in list(skipped.items())[:most]:
        notify(f"Skipped {name}: {without_name(why, name)}")
    if len(skipped) > most:
        notify(f"Skipped {len(skipped) - most} more.")
    return Exit.PARTLY if skipped else Exit.DONE


def without_name(why: str, name: str) -> str:
    """A reason beside the name of the item, which need not stand there again with its whole path.

    >>> without_name("/data/a/b.png is empty: it has 0 bytes.", "a/b.png")
    'it is empty: it has 0 bytes.'
    """
    path, found, rest = why.partition(f"{name} ")
    return f"it {rest}" if found and (not path or path.endswith(("/", "\\"))) else why
