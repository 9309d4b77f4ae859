"""How commands speak: results to standard output, remarks to standard error, errors with an exit code.

`command` gives a command what all have in common; an option for all is added there.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import wraps
from typing import Any, Never, TypeVar, cast

import click

from shoal.errors import BudgetExceeded, ShoalError, ShoalWarning

F = TypeVar("F", bound=Callable[..., Any])


class Exit(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    REFUSED = 3
    SPENT = 4
    INTERRUPTED = 130


# As `shoal --help` says them.
EXIT_CODES = {
    Exit.DONE: "done",
    Exit.FAILED: "a check failed",
    Exit.BAD_INPUT: "bad input (nothing was spent)",
    Exit.REFUSED: "the budget refused",
    Exit.SPENT: "stopped after something was spent (it says how much)",
    Exit.INTERRUPTED: "interrupted",
}


def command(name: str | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command: with ``--json``, and with errors and warnings that are one line.

    Parameters
    ----------
    name : str, optional
        What it is called, if not as its function.
    """

    def make(function: Callable[..., Any]) -> click.Command:
        for_machines = click.option("--json", "as_json", is_flag=True, help="Print the result for machines.")
        return click.command(name)(for_machines(speaks(function)))

    return make


def speaks(command: F) -> F:
    """Turn Shoal's errors into one clear line and an exit code; a bug still shows its trace."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            _speak_plainly(stream)
        try:
            with _plain_warnings():
                found = command(*args, **kwargs)
                sys.stdout.flush()  # a reader that left is noticed here, and not when Python ends
                return found
        except BrokenPipeError:
            _end_quietly()
        except SystemExit as end:  # by which rich leaves, having seen the same
            sys.exit(int(Exit.DONE) if isinstance(end.__context__, BrokenPipeError) else end.code)
        except BudgetExceeded as refusal:
            fail(str(refusal), Exit.REFUSED)
        except ShoalError as error:
            fail(str(error), Exit.BAD_INPUT)
        except KeyboardInterrupt:
            fail("interrupted", Exit.INTERRUPTED)

    return cast(F, run)


# Letters that a terminal without them gets instead; others become a question mark.
_INSTEAD = {"±": "+/-", "–": "-", "—": "-", "’": "'", "…": "...", "×": "x", "█": "#", "≥": ">=", "≤": "<="}


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_INSTEAD.get(letter, "?") for letter in text), error.end


def _speak_plainly(stream: Any) -> None:
    """Let a terminal that knows ASCII alone be no error."""
    codecs.register_error("shoal", _in_ascii)
    if hasattr(stream, "reconfigure") and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="shoal")


def _end_quietly() -> Never:
    """Leave as others do when their reader has: `shoal show release | head` is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python still has to flush
    sys.exit(int(Exit.DONE))


def fail(message: str, code: Exit) -> Never:
    """Print an error and leave."""
    click.secho("error: ", fg="red", bold=True, err=True, nl=False)
    click.echo(message, err=True)
    sys.exit(int(code))


def say(message: str) -> None:
    """Print a remark that is not the result."""
    click.echo(message, err=True)


def write_json(value: Any) -> None:
    """Print the result for machines."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show Shoal's warnings as one line each, in place of Python's two with a path."""
    original = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, ShoalWarning):
            click.secho("warning: ", fg="yellow", bold=True, err=True, nl=False)
            click.echo(str(message), err=True)
        else:
            original(message, category, *rest, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original
