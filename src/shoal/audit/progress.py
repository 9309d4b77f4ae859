"""How far an audit is: a bar where somebody looks, and lines where nobody does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from shoal.audit.report import Finding
from shoal.audit.suite import Watch

# Seconds between two lines where nobody sees a bar.
SILENCE = 5.0


class Bar(Watch):
    """Show progress on the standard error: a bar, or in a file a line every few seconds.

    Parameters
    ----------
    console : rich Console, optional
        Where to, if not to the standard error.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, soft_wrap=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("runs", total=None)
        self._total, self._done, self._start = 0, 0, time.monotonic()
        self._spoke = self._start

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, runs: int, kept: int) -> None:
        """Say what there is to do."""
        self._total, self._start = runs, time.monotonic()
        self._bar.update(self._task, total=runs)
        if kept:
            self.say(f"{kept} findings are there already; {runs:,} runs to go")

    def complain(self, text: str) -> None:
        """Say what was wrong."""
        self.say(text)

    def advance(self, runs: int) -> None:
        """Move the bar; where there is none, say every few seconds how far it is."""
        self._done += runs
        self._bar.advance(self._task, runs)
        if not self._console.is_terminal and time.monotonic() - self._spoke >= SILENCE:
            self.say(self._so_far())

    def finished(self, algorithm: str, epsilon: float, findings: Sequence[Finding]) -> None:
        """Name what comes next; in a file, tell what was found and how long the rest may take."""
        self._bar.update(self._task, description=f"runs, after {algorithm} at {epsilon:g}")
        if self._console.is_terminal:
            return
        caught = sum(not finding.passed for finding in findings)
        verdict = f"{caught} of {len(findings)} audits found a leak" if caught else "not detected"
        seconds = sum(finding.seconds for finding in findings)
        left = f"; {self._so_far()}" if self._done else ""
        self.say(f"{algorithm} at {epsilon:g}: {verdict}, {seconds:.0f} s{left}")

    def _so_far(self) -> str:
        # Runs of one algorithm take longer than those of another, so this is only about right.
        if 20 * self._done < self._total:  # too early to say: processes are started first
            return f"{self._done:,} of {self._total:,} runs"
        rest = (time.monotonic() - self._start) * (self._total - self._done) / self._done
        return f"{self._done:,} of {self._total:,} runs, about {timedelta(seconds=round(rest))} left"

    def say(self, text: str) -> None:
        """Print a line."""
        self._spoke = time.monotonic()
        self._console.print(text, highlight=False, markup=False)
