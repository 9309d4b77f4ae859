"""The parameters every private estimator has, written once and shown in every signature."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypedDict

from shoal.accounting import Accountant, Allowance, Approx, Budget, NoGuarantee, Pure
from shoal.domain import BoundsLike, InZone, Part, Unit, Zones
from shoal.domain.domain import Missing, Neighbours, Scaling
from shoal.errors import DamagedFile, EngineFailed, InvalidBudget, InvalidInput
from shoal.estimators.docstrings import SharesParameters
from shoal.estimators.face import seed_of
from shoal.mechanisms import Entropy, SeededEntropy, SystemEntropy
from shoal.queries import Noise
from shoal.queries.laws.noise import NOISES

MissingLike: TypeAlias = Literal["centre", "drop", "indicator"] | Mapping[str, Literal["centre", "indicator"]]


class Common(TypedDict, total=False):
    """What may be given to any estimator besides its own parameters; see :class:`CommonParameters`."""

    delta: float
    bounds: BoundsLike | None
    neighbours: Neighbours
    unit: str | None
    max_rows: int
    n_rows: int | None
    budget: Accountant | None
    scaling: Scaling
    missing: MissingLike
    levels: Mapping[str, Sequence[str | int]] | None
    cyclic: Mapping[str, Any] | None
    column_weights: Mapping[str, float] | None
    max_weight: float | None
    zones: Zones | None
    count_clipped: bool
    n_jobs: int | None
    verbose: bool
    random_state: Any


class CommonParameters(SharesParameters, gives=True):
    """Parameters that all private estimators share.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private. No default: it is yours to decide.
    delta : float
        0 for pure differential privacy; above it, Gaussian noise is drawn.
    bounds : (lower, upper), mapping of column name to (lower, upper), or "latlon"
        Public bounds of the columns; rows are clipped to them. A mapping says which columns are clustered,
        with those of `levels` and `cyclic`; bounds of times are dates or times, those of truth values
        ``"boolean"``. If not given, they are estimated privately with a tenth of the
        budget, or up to three tenths where noise hides their magnitude.
    neighbours : {"add-remove", "replace"}
        Whom the guarantee protects: one row added or removed, or one row replaced.
    unit : str, optional
        The column that names the person. It is not clustered, and the guarantee protects a person with all
        their rows. A row without a name is a person of its own.
    max_rows : int
        The most rows of a person that are kept; everything is charged for that many.
    n_rows : int, optional
        A *public* row count that you vouch for.
    budget : Accountant, optional
        Shared with other fits on the same table, whose losses add up.
    scaling : {"bounds", "none", "earth"}
        Measure distance after scaling each column to its bounds, or in the table's own units, or on the
        ground between columns of longitude and latitude: a degree of longitude is as long as at the middle
        latitude of the bounds, and the other columns are scaled to their bounds.
    missing : {"centre", "drop", "indicator"} or mapping of column name to "centre" or "indicator"
        Where missing cells go: to the middle of their bounds, or away with their row; or to the middle, with
        another column of 0 and 1 that says so.
    levels : mapping of column name to list of str or int, optional
        The public levels of category columns. Each becomes a column of 0 and 1, called ``column=level``;
        another cell is a missing one.
    cyclic : mapping of column name to float or str, optional
        Columns that go round: the length of a round, such as 24 for hours, or "day", "week" or "year" (or
        several) for a column of times. Each becomes a cosine and a sine.
    column_weights : mapping of column name to float, optional
        How many times a difference in a column counts; once, if not given.
    max_weight : float, optional
        The public maximum of `sample_weight` in `fit`.
    zones : Zones, optional
        Disjoint public regions, or levels of a public column, with epsilons of their own; `epsilon` is that
        of the rest. Groups are found in each zone by itself. Then `n_clusters` is the number in all, shared
        out by noisy counts of the zones' rows, or a mapping of the name of each zone to its number.
    count_clipped : bool
        Whether to count, for a fiftieth of the budget, how many cells of each column were missing or clipped
        to the bounds; the certificate says it.
    n_jobs : int, optional
        Threads; all cores if not given. The result does not depend on it.
    verbose : bool
        Whether to show how far a fit is, on the standard error: the question that is being answered, rows
        per second, and the time left. It is for your own screen: what it shows is not for release.
    random_state : int, optional
        For tests and papers only: a seeded release is *not private*, and its certificate says so.
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] | Mapping[str, int],
        *,
        epsilon: float,
        delta: float = 0.0,
        bounds: BoundsLike | None = None,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        max_rows: int = 1,
        n_rows: int | None = None,
        budget: Accountant | None = None,
        scaling: Scaling = "bounds",
        missing: MissingLike = "centre",
        levels: Mapping[str, Sequence[str | int]] | None = None,
        cyclic: Mapping[str, Any] | None = None,
        column_weights: Mapping[str, float] | None = None,
        max_weight: float | None = None,
        zones: Zones | None = None,
        count_clipped: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise TypeError(self._no_such(next(iter(unknown))))
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows = max_rows
        self.n_rows = n_rows
        self.budget = budget
        self.scaling = scaling
        self.missing = missing
        self.levels = levels
        self.cyclic = cyclic
        self.column_weights = column_weights
        self.max_weight = max_weight
        self.zones = zones
        self.count_clipped = count_clipped
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number of at least `least`, or say what is wrong with it."""
    if not is_whole(value) or value < least:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def check_choice(value: Any, name: str, choices: Sequence[str]) -> Any:
    """Return one of a few words, or say which there are."""
    if value not in choices:
        raise InvalidInput(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    return value


def check_noise(noise: Any, budget: Pure | Approx) -> Noise | None:
    """Return the law of the noise, None for the curator's own choice ("auto")."""
    check_choice(noise, "noise", ("auto", *NOISES))
    if noise == "gaussian" and isinstance(budget, Pure):
        raise InvalidBudget("noise='gaussian' needs delta above 0; use noise='linf' with delta=0")
    return None if noise == "auto" else noise


def is_whole(value: Any) -> bool:
    """Say whether a value is an integer, and not a truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def accountant_for(estimator: Any, budget: Budget) -> Accountant:
    """Return the accountant a fit draws on: the shared one, or one of its own."""
    if isinstance(budget, NoGuarantee) and not getattr(estimator.budget, "durable", False):
        return Accountant(epsilon=1)  # of which nothing can be spent; a ledger refuses it
    if estimator.budget is None:
        delta = 0.0 if isinstance(budget, Pure) else estimator.delta
        return Accountant(epsilon=estimator.epsilon, delta=delta)
    if not isinstance(estimator.budget, Accountant):
        raise InvalidInput(f"budget is {estimator.budget!r}; pass a shoal.Accountant to share between fits")
    return estimator.budget


def missing_for(estimator: Any) -> tuple[Missing, bool | list[str]]:
    """Return where missing cells go, and which columns get another one that says so."""
    given = estimator.missing
    if isinstance(given, Mapping):
        for name, choice in given.items():
            if choice not in ("centre", "indicator"):
                raise InvalidInput(
                    f"missing of column {name!r} is {choice!r}; it must be 'centre' or 'indicator': rows are "
                    "dropped by missing='drop' for all columns alike"
                )
        return "centre", [str(name) for name, choice in given.items() if choice == "indicator"]
    check_choice(given, "missing", ("centre", "drop", "indicator"))
    return ("centre", True) if given == "indicator" else (given, False)


def part_for(estimator: Any) -> Part | InZone | None:
    """Return the part of the table that a fit is of, as its ledger has declared it; None for all of it.

    Of zones it is the first: the others are had from the same open table.
    """
    place = getattr(estimator.budget, "place", None)
    if estimator.zones is not None:
        if not isinstance(estimator.zones, Zones):
            raise InvalidInput(
                f"zones is {estimator.zones!r}; make them by Zones.from_geojson or from_column"
            )
        if place is not None:
            raise InvalidInput("zones cannot go with a part of a ledger: both cut the table; fit all of it")
        return InZone(estimator.zones)
    if place is None:
        return None
    if estimator.n_rows is not None:
        raise InvalidInput("n_rows cannot go with a part: how many rows are in it depends on the data")
    (column, level), charter = place, estimator.budget.charter
    return Part(column, charter.partitions[column], level, charter.parts_per_person)


def unit_for(estimator: Any) -> Unit:
    """Return whom a fit protects, or say what is wrong with `unit`, `max_rows` or `neighbours`."""
    max_rows = check_count(estimator.max_rows, "max_rows")
    if estimator.unit is None and max_rows > 1:
        raise InvalidInput(
            f"max_rows is {max_rows} but unit is not given: without a column that names the person, "
            "unit='...', a row is taken for a person, who has one"
        )
    if estimator.unit is not None and not isinstance(estimator.unit, str):
        raise InvalidInput(
            f"unit is {estimator.unit!r}; it must be the name of the column of people, or None"
        )
    return Unit(estimator.neighbours, max_rows, estimator.unit)


def entropy_for(estimator: Any) -> Entropy:
    """Return the operating system's randomness, or a seeded one that taints the release."""
    if estimator.random_state is None:
        return SystemEntropy()
    return SeededEntropy(seed_of(estimator.random_state))


@contextmanager
def saying_what_was_spent(allowance: Allowance) -> Iterator[None]:
    """Let a file or an engine that breaks off half way say what its fit has cost."""
    try:
        yield
    except (DamagedFile, EngineFailed) as error:
        error.args = (f"{error}; {allowance.describe_spent()}",)  # the same error: it has no cause to show
        raise
