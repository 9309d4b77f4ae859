"""When loops are compiled: not before their NumPy twins, which give the same bits, have had much to do.

To load the compiler takes most of a second, and to compile the loops of a fit ten more, once on a machine. A
small fit is over long before that. So a process begins with the twins, and goes over to compiled loops when
one call, or all calls together, is too much for them. What is computed does not depend on it, only how long
it takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from threading import RLock
from typing import Any, TypeVar, cast

Loop = TypeVar("Loop", bound=Callable[..., Any])

ENOUGH = 2**27
"""Numbers that twins look at before loops are compiled: at 3 to 10 nanoseconds each they take about a second,
which is what it takes to load compiled loops from disk."""
_CALL = 4000
"""What a call of a twin counts beside its numbers: some 20 microseconds."""

LOADING = RLock()
"""Held while the compiler is loaded: threads that import it at once find half of it, or wait for ever."""

_looked_at = 0
_listeners: list[Callable[[], None]] = []


@cache
def compiles() -> bool:
    """Say whether loops can be compiled here."""
    return os.environ.get("SHOAL_NO_NUMBA") != "1" and find_spec("numba") is not None


def much(work: int) -> bool:
    """Take note of work to be done, and say whether it is now too much for twins.

    Parameters
    ----------
    work : int
        How many numbers a twin would look at.
    """
    global _looked_at
    # Two threads may lose one another's work here. Nothing but time hangs on it.
    _looked_at += work + _CALL
    return _looked_at > ENOUGH


def at_once() -> None:
    """Compile from now on, however little there is to do."""
    much(ENOUGH)


def compiled(loop: Loop, twin: Loop, work: Callable[..., int]) -> Loop:
    """Return a function that runs a loop compiled, or its twin as long as there is little to do.

    Parameters
    ----------
    loop, twin : callable
        The same, to the last bit: in Python for the compiler, and in NumPy.
    work : callable
        Returns how many numbers a call of the twin looks at, of the same arguments.
    """

    @cache
    def fast() -> Any:
        with LOADING:
            with_compiler()
            import numba

            return numba.njit(nogil=True, cache=True)(loop)

    def run(*arguments: Any) -> Any:
        use = fast() if compiles() and much(work(*arguments)) else twin
        return use(*arguments)

    return cast(Loop, run)


def with_compiler() -> None:
    """Load the compiler, once, and have it say when it compiles; what is kept on disk is only read."""
    with LOADING:
        _load()


@cache
def _load() -> None:
    import numba  # noqa: F401 - whole, before a part of it is asked for
    from numba.core import event

    class Told(event.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            for tell in tuple(_listeners):
                tell()

        def on_end(self, _: Any) -> None:
            pass

    event.register("numba:compile", Told())


@contextmanager
def telling_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once, before the first loop is compiled; those that are kept on disk are only read."""

    def once() -> None:
        try:
            _listeners.remove(once)
        except ValueError:  # another thread has told, or nobody listens any more
            return
        tell()

    _listeners.append(once)
    try:
        yield
    finally:
        with suppress(ValueError):
            _listeners.remove(once)
