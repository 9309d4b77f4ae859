"""An experiment as a plain value: which tables, which methods, what is varied, how often, what is drawn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from shoal import datasets
from shoal.bench.claims import Claim
from shoal.errors import InvalidInput

Over: TypeAlias = Literal["epsilon", "k", "d", "n"]
Metric: TypeAlias = Literal[
    "nicv", "ratio", "excess", "cost_gap", "distance", "seconds", "memory", "centre_error", "points"
]
Figure: TypeAlias = Literal["curves", "overview", "matrix", "heatmap", "predicted"]

# Metrics that need a look into the fitted model.
PROBED: tuple[Metric, ...] = ("centre_error", "points")
# Metrics that need the best solution known.
RELATIVE: tuple[Metric, ...] = ("nicv", "ratio", "excess", "cost_gap")
BASELINE = "non-private"
# k-means starts for the best non-private solution known.
STARTS = 50


@dataclass(frozen=True)
class Data:
    """A table by name, with the parameters of a made-up family.

    Examples
    --------
    >>> Data.of("gaussians", d=5, k=10).label
    'gaussians d=5 k=10'
    """

    name: str
    parameters: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, name: str, **parameters: int) -> Data:
        """Name a table."""
        known = datasets.options(name)
        if unknown := set(parameters) - set(known):
            raise InvalidInput(f"data set {name!r} has no parameter {sorted(unknown)[0]!r}")
        return cls(name, tuple(sorted(parameters.items())))

    @property
    def label(self) -> str:
        """Name and parameters."""
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.parameters)])

    def takes(self, parameter: str) -> bool:
        """Tell whether the family has a parameter."""
        return parameter in datasets.options(self.name)

    def varied(self, **parameters: int) -> Data:
        """Return the same family with other parameters."""
        return Data.of(self.name, **{**dict(self.parameters), **parameters})

    @property
    def k(self) -> int:
        """The number of groups that belongs to the table."""
        return datasets.groups(self.name, **dict(self.parameters))


@dataclass(frozen=True)
class Method:
    """An algorithm by its name in the registry, with parameters, as plain data.

    Parameters
    ----------
    label : str
        What the figures call it.
    algorithm : str
        A name in the registry, ``"non-private"`` or ``"peer:NAME"``.
    parameters : tuple of (str, value)
        Passed to its estimator.
    runs : int, optional
        How often, where its paper's protocol differs from the experiment's.
    only : tuple of str
        Labels of the tables that it is run on; all if empty.

    Examples
    --------
    >>> Method.of("DPLloyd, Laplace", "lloyd", noise="laplace").parameters
    (('noise', 'laplace'),)
    """

    label: str
    algorithm: str
    parameters: tuple[tuple[str, Any], ...] = ()
    runs: int | None = None
    only: tuple[str, ...] = ()

    @classmethod
    def of(cls, label: str, algorithm: str, runs: int | None = None, **parameters: Any) -> Method:
        """Name a method."""
        return cls(label, algorithm, tuple(sorted(parameters.items())), runs)


@dataclass(frozen=True)
class Sweep:
    """What is varied and through which values."""

    over: Over
    values: tuple[float, ...]


@dataclass(frozen=True)
class Quick:
    """What is left of an experiment when minutes count: fewer runs, values and tables, never other ones."""

    runs: int = 5
    values: tuple[float, ...] | None = None
    data: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Case:
    """One run: everything that decides its outcome."""

    data: Data
    rows: int | None
    k: int
    method: Method
    epsilon: float | None
    delta: float
    run: int
    probe: bool = False
    seeded: bool = True
    series: str = ""
    x: float | None = None

    @property
    def table(self) -> str:
        """The table and number of groups, in one line: what results may be compared on."""
        cut = f" rows={self.rows}" if self.rows is not None else ""
        return f"{self.data.label}{cut} / {self.k} groups"

    @cached_property  # planning asks for it several times
    def id(self) -> str:
        """A hash of the parameters and the number of the run, but not of what the figures call them."""
        facts = asdict(self)
        for name in ("series", "x"):
            del facts[name]
        for name in ("label", "runs", "only"):
            del facts["method"][name]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def seed(self) -> int | None:
        """A seed of its own for every run, or None for the system's randomness."""
        return int(self.id[:8], 16) % (2**31 - 1) if self.seeded else None


@dataclass(frozen=True)
class Experiment:
    """A figure or table, before it is run.

    Parameters
    ----------
    name, title, paper : str
        What it is called, what it shows and whose it is.
    data : tuple of Data
        Tables; each becomes a panel.
    methods : tuple of Method, or "all"
        What is compared; "all" is every algorithm in the registry, the peers and the non-private baseline.
    sweep : Sweep
        What is varied.
    runs : int
        Runs of each method on each table at each value.
    metrics : tuple of str
        What is drawn: NICV, its ratio to the best non-private solution known, its excess over it, CostGap,
        the mean distance (not squared),
        seconds, memory, the error of the centres of one round, or the weighted points they rest on. The
        first goes into the table.
    figures : tuple of str
        How it is drawn.
    epsilon, delta, k : number
        Where they are not varied; k is the table's own if None.
    claims : tuple of Claim
        What was published, to be judged on the results.
    alone : bool
        Run one at a time with all threads, with system randomness: for time and memory.
    quick : Quick
        What `--quick` leaves.
    note : str
        What a reader must know.
    narrower : str
        In what it is narrower than its paper, when all of it is run; captions say so.
    hours : float
        How long all of it takes, about, on two free cores.
    starts : int
        Of k-means for the best non-private solution, of which every run's polished centres are others.
    """

    name: str
    title: str
    paper: str
    data: tuple[Data, ...]
    methods: tuple[Method, ...] | Literal["all"]
    sweep: Sweep
    runs: int
    metrics: tuple[Metric, ...] = ("ratio",)
    figures: tuple[Figure, ...] = ("curves",)
    epsilon: float = 1.0
    delta: float = 0.0
    k: int | None = None
    claims: tuple[Claim, ...] = ()
    alone: bool = False
    quick: Quick = Quick()
    note: str = ""
    narrower: str = ""
    hours: float = 0.1
    starts: int = STARTS

    def cases(self, methods: tuple[Method, ...], *, quick: bool = False) -> Iterator[Case]:
        """Yield the runs of some methods: all values once, then all values again, table by table."""
        values, runs = self.sweep.values, self.runs
        if quick:
            values, runs = self.quick.values or values, min(self.quick.runs, runs)
        for data in self.tables(quick=quick):
            for run in range(max([runs, *(m.runs or 0 for m in methods if not quick)])):
                for value in values:
                    for method in methods:
                        limit = min(runs, method.runs or runs) if quick else method.runs or runs
                        if run < limit and (not method.only or data.label in method.only):
                            yield self._case(data, value, method, run)

    def with_runs(self, most: int) -> Experiment:
        """Return the same with no more runs of each method than these: the first ones."""
        methods = self.methods
        if methods != "all":
            methods = tuple(replace(m, runs=m.runs and min(most, m.runs)) for m in methods)
        return replace(self, runs=min(most, self.runs), methods=methods)

    def at(self, values: tuple[float, ...]) -> Experiment:
        """Return the same with no other values of what is varied than these."""
        chosen = tuple(value for value in self.sweep.values if value in values)
        if not chosen:
            known = ", ".join(f"{value:g}" for value in self.sweep.values)
            raise InvalidInput(f"{self.name} is not run at any of these; its {self.sweep.over} are {known}")
        return replace(self, sweep=replace(self.sweep, values=chosen), quick=replace(self.quick, values=None))

    def of(self, labels: tuple[str, ...]) -> Experiment:
        """Return the same with no other methods than these."""
        methods = () if self.methods == "all" else self.methods
        chosen = tuple(method for method in methods if method.label in labels)
        if not chosen:
            known = (
                "; ".join(method.label for method in methods) or "whatever there is, not to be chosen from"
            )
            raise InvalidInput(f"{self.name} has none of these methods; it has {known}")
        return replace(self, methods=chosen)

    def n_cases(self, methods: tuple[Method, ...]) -> int:
        """Return how many runs of some methods there are in all."""
        own = (
            len(self.sweep.values) * (method.runs or self.runs) * len(method.only or self.data)
            for method in methods
        )
        return sum(own)

    @property
    def relative(self) -> bool:
        """Whether results are held against the best non-private solution known."""
        return any(metric in RELATIVE for metric in self.metrics)

    def tables(self, *, quick: bool = False) -> tuple[Data, ...]:
        """Return the tables, or those that `--quick` leaves."""
        chosen = self.quick.data
        return self.data if not quick or chosen is None else tuple(d for d in self.data if d.label in chosen)

    def _case(self, data: Data, value: float, method: Method, run: int) -> Case:
        over, rows, k, epsilon = self.sweep.over, None, self.k, self.epsilon
        series = data.label
        if over == "epsilon":
            epsilon = value
        elif over == "k":
            k = int(value)
            data = data.varied(k=k) if data.takes("k") else data
        elif over == "n" and not data.takes("n"):
            rows = int(value)
        else:
            data = data.varied(**{over: int(value)})
        case = Case(
            data=data,
            rows=rows,
            k=data.k if k is None else k,
            method=method,
            epsilon=epsilon,
            delta=self.delta,
            run=run,
            probe=any(metric in PROBED for metric in self.metrics),
            seeded=not self.alone,
            series=series,
            x=float(value),
        )
        # What reads no epsilon is the same at all of them, and is run once.
        return replace(case, epsilon=None, delta=0.0) if method.algorithm == BASELINE else case
