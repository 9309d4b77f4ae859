"""What must not live on in a forked child: budgets, which it would spend twice, and noise read ahead.

Process numbers recur, so that comparing them is no test. The system itself says when a process was forked.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that a forked child has a copy of, and may not use as it is."""

    def _forked(self) -> None:
        """Be told, in the child, that this is a copy."""
        ...


_ALIVE: WeakSet[Forkable] = WeakSet()


def tell_of_forks(thing: Forkable) -> None:
    """Have `thing._forked()` called in every child that is forked while it lives."""
    _ALIVE.add(thing)


def _tell() -> None:
    for thing in list(_ALIVE):
        thing._forked()


if hasattr(os, "register_at_fork"):  # where there is no fork, there is nothing to tell of
    os.register_at_fork(after_in_child=_tell)
