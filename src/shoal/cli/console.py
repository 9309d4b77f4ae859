"""How commands speak: results to standard output, remarks to standard error, errors with an exit code."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import click

from shoal.errors import BudgetExceeded, ShoalError, ShoalWarning

F = TypeVar("F", bound=Callable[..., Any])

BAD_INPUT, REFUSED, SPENT, INTERRUPTED = 2, 3, 4, 130


def speaks(command: F) -> F:
    """Turn Shoal's errors into one clear line and an exit code; a bug still shows its trace."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with _plain_warnings():
                return command(*args, **kwargs)
        except BudgetExceeded as refusal:
            fail(str(refusal), REFUSED)
        except ShoalError as error:
            fail(str(error), BAD_INPUT)
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)

    return cast(F, run)


def fail(message: str, code: int) -> None:
    """Print an error and leave."""
    click.secho("error: ", fg="red", bold=True, err=True, nl=False)
    click.echo(message, err=True)
    sys.exit(code)


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
