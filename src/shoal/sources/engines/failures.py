"""What went wrong on the workers of an engine, in a sentence that says nothing of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.errors import EngineFailed, ShoalError


def _not_known() -> None:
    return None


@dataclass(frozen=True)
class failures_told:  # noqa: N801 - a context
    """Says in a sentence that workers failed, and nothing of what they held.

    Parameters
    ----------
    engine : str
        Whose workers.
    why : callable
        Says what is wrong with the engine itself, if it can tell; asked only once something went wrong.
    """

    engine: str
    why: Callable[[], str | None] = _not_known

    def __enter__(self) -> None:
        """Nothing is done before."""

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        """Let errors of Shoal and interrupts through; of any other show what it is, not what it says."""
        if error is None or isinstance(error, ShoalError) or not isinstance(error, Exception):
            return
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "shoal":
            raise EngineFailed(
                f"a worker of {self.engine} has no Shoal, or another version of it: install the same"
            ) from None
        if (sentence := self.why()) is not None:
            raise EngineFailed(sentence) from None
        # Its message may quote a row; what an engine calls it does not.
        name = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        raise EngineFailed(
            f"workers of {self.engine} could not do their part ({name}): see their logs"
        ) from None
