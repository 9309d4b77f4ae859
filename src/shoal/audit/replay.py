"""The replay audit: an algorithm saw its answers and nothing else, and a row's cell is its own affair."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from shoal.algorithms import Algorithm, Clustering
from shoal.audit.observations import Fit
from shoal.audit.recorded import domains_of, recorded
from shoal.domain import Domain
from shoal.errors import ReplayMismatch, ShoalError
from shoal.queries import ReplayCurator, Transcript
from shoal.queries.gate.answering import AnsweringCurator
from shoal.queries.gate.codec import digest
from shoal.queries.questions import Step
from shoal.release import CoresetRelease, Release, SynopsisRelease
from shoal.release.checks import replay as replay_release

# What rows are overwritten with; nobody has this.
SPOILT = 0.123


@dataclass(frozen=True)
class ReplayAudit:
    """Whether a run could be repeated without its rows.

    Parameters
    ----------
    passed : bool
        Whether it could, bit for bit, and no row's cell depended on another row.
    detail : str
        What was found.
    """

    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'replays' if self.passed else 'does not replay'}: {self.detail}"


def replays(algorithm: Algorithm, curator: AnsweringCurator, rows: Any) -> Clustering:
    """Run, spoil the rows, run again from the transcript alone, and compare bit for bit.

    Parameters
    ----------
    algorithm : Algorithm
        What to run.
    curator : AnsweringCurator
        With the rows behind it.
    rows : ndarray
        The same rows as the caller holds them; they are overwritten.

    Returns
    -------
    Clustering
        Of both runs.

    Raises
    ------
    ReplayMismatch
        If the second run asks or answers anything else than the first: it has seen more than answers.
    """
    live = algorithm.run(curator)
    rows[:] = SPOILT  # an algorithm that kept hold of the rows now sees others
    replay = ReplayCurator(curator.transcript)
    again = algorithm.run(replay)
    replay.finish()
    for part in fields(Clustering):
        if digest(getattr(live, part.name)) != digest(getattr(again, part.name)):
            raise ReplayMismatch(f"the replay gives other {part.name}: the algorithm has kept something")
    return live


def check_cells(transcript: Transcript, rows: Any, domain: Domain | Sequence[Domain] | None = None) -> None:
    """Put the recorded questions to every row alone: its share must be what it was among the others.

    Raises
    ------
    ReplayMismatch
        If the totals of single rows do not add up to the total of all. Then one row more or less could
        change what other rows are counted as, and the noise is for one row's change only.
    """
    domains, curator = domains_of(transcript, domain), ReplayCurator(transcript)
    for i, (entry, public) in enumerate(zip(transcript, domains, strict=True)):
        question, whole = entry.question, public.encode(list(np.asarray(rows).T))
        if isinstance(question, Step):
            break  # which rows are taken away depends on the others, and is meant to
        if not question.adds_up(whole, replace(curator.terms, domain=public)):
            raise ReplayMismatch(
                f"question {i} ({question.describe()}) counts rows differently one by one: "
                "what a row adds depends on other rows"
            )


def audit_replay(estimator: Any, rows: Any, seed: int | None = None) -> ReplayAudit:
    """Fit, spoil the rows, run the algorithm again from the release alone, then ask each row by itself.

    Parameters
    ----------
    estimator : estimator
        One of Shoal's, not fitted.
    rows : ndarray of shape (n_rows, n_columns)
        Invented for the audit; copied before they are spoilt.
    seed : int, optional
        To repeat the audit.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> rows = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> print(audit_replay(DPLloyd(3, epsilon=5.0, bounds=(-1, 1), max_iter=2), rows, seed=0))
    replays: 2 charged questions, 60 rows one by one
    """
    scratch = np.array(rows, dtype=np.float64)
    model = Fit(estimator).quietly(scratch, seed)
    scratch[:] = SPOILT
    record = recorded(model)
    try:
        found, domains = record.again()
        _compare(model, found)
        check_cells(record.transcript, rows, domains)
    except ShoalError as error:
        return ReplayAudit(False, str(error))
    return ReplayAudit(
        True, f"{len(record.transcript.charges)} charged questions, {len(rows)} rows one by one"
    )


def _compare(model: Any, found: Any) -> None:
    """Refuse a run that gives something else than the model holds."""
    release = model.release_
    if isinstance(release, Release):
        replay_release(release)
    elif isinstance(release, CoresetRelease):
        _same(release.parts[0].coreset, found)
    elif isinstance(release, SynopsisRelease):
        _same(release.synopsis, found)
    else:
        again = copy(model)
        again._take(found)
        _same(_learnt(model), _learnt(again))
        _same(release.learnt, found)


def _learnt(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def _same(one: Any, other: Any) -> None:
    if digest(one) != digest(other):
        raise ReplayMismatch("the replay gives something else: the algorithm has kept something")
