"""Raw results, grouped and summed up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.reporting.store import Record

# From here on a median is shown beside the mean.
SCATTERED = 0.2


@dataclass(frozen=True)
class Summary:
    """A metric over the runs of one method on one table at one value."""

    n: int
    mean: float
    sd: float
    low: float
    high: float
    median: float = math.nan

    def __str__(self) -> str:
        if self.n == 1:
            return f"{self.mean:.3g} (one run)"
        text = f"{self.mean:.3g} ± {self.sd:.2g}"
        return f"{text}, median {self.median:.3g}" if self.scattered else text

    @property
    def scattered(self) -> bool:
        """Whether a few runs make the mean: it is off the median by more than a fifth."""
        return abs(self.mean - self.median) > SCATTERED * abs(self.median)

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.n) if self.n > 1 else math.nan


class Results:
    """The finished runs of an experiment.

    Parameters
    ----------
    records : iterable of dict
        As the runner writes them. Runs that failed are left out; `failed` keeps them.

    Examples
    --------
    >>> runs = [{"method": "a", "series": "s", "x": 1.0, "nicv": v} for v in (2.0, 4.0)]
    >>> Results(runs).where(method="a").mean("nicv")
    3.0
    """

    def __init__(self, records: Iterable[Record]) -> None:
        every = list(records)
        self.records = [record for record in every if not record.get("error")]
        self.failed = [record for record in every if record.get("error")]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def where(self, **facts: Any) -> Results:
        """Return the runs with these facts."""
        return Results(r for r in self.records if all(r.get(name) == value for name, value in facts.items()))

    def distinct(self, fact: str) -> tuple[Any, ...]:
        """Return the values of a fact, in the order they were first seen."""
        return tuple(dict.fromkeys(r.get(fact) for r in self.records if r.get(fact) is not None))

    def values(self, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a metric of every run that has it."""
        found = [r[metric] for r in self.records if r.get(metric) is not None]
        return np.array(found, dtype=np.float64)

    def mean(self, metric: str) -> float:
        """Return the mean of a metric, NaN where there are no runs."""
        values = self.values(metric)
        return float(values.mean()) if len(values) else math.nan

    def summary(self, metric: str) -> Summary | None:
        """Return mean, standard deviation, and the 10th and 90th percentile; None where there are no runs."""
        values = self.values(metric)
        if not len(values):
            return None
        low, median, high = np.quantile(values, [0.1, 0.5, 0.9])
        sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        return Summary(len(values), float(values.mean()), sd, float(low), float(high), float(median))

    def cells(self) -> Iterator[tuple[str, float, Results]]:
        """Yield the runs on each table at each value, all methods together."""
        groups: dict[tuple[str, float], list[Record]] = {}
        for record in self.records:
            if record.get("x") is not None:
                groups.setdefault((record["series"], record["x"]), []).append(record)
        for (series, x), group in groups.items():
            yield series, x, Results(group)


def best_known(records: Iterable[Record]) -> dict[str, float]:
    """Return the smallest non-private NICV seen on each table.

    Candidates are k-means from many starts, and k-means started from any centres that any method gave.
    """
    best: dict[str, float] = {}
    for record in records:
        for metric in ("nicv",) if record["algorithm"] == "non-private" else ("polished",):
            if record.get(metric) is not None:
                best[record["table"]] = min(best.get(record["table"], math.inf), record[metric])
    return best


def relative(records: Iterable[Record], best: dict[str, float]) -> Iterator[Record]:
    """Add what a run's NICV is against the best known: ratio, excess and CostGap."""
    for record in records:
        reference, nicv = best.get(record["table"]), record.get("nicv")
        if reference and nicv is not None:
            # Joshi and Thakkar (1): CostGap = |cost - cost of Lloyd| / cost of Lloyd.
            record = {
                **record,
                "best": reference,
                "ratio": nicv / reference,
                "excess": nicv - reference,
                "cost_gap": abs(nicv - reference) / reference,
            }
        yield record
