"""The law audit: the noise that is drawn must be the noise that is charged for."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from shoal._typing import Array
from shoal.accounting import budget_of
from shoal.audit.uniforms import loss_factor, uniforms
from shoal.domain import STEPS, Unit
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy, SystemEntropy
from shoal.queries.laws.noise import PURE, NoiseLaw, design, noises_for
from shoal.queries.statistics.aggregates import RowChange

Sampler: TypeAlias = Callable[[Entropy, int], Any]

# Probability of a false alarm of one audit, all its tests together.
LEVEL = 1e-6
# Draws: with fewer the tests of shape and independence say nothing.
FEWEST = 100
# Places on the lattice's steps; nothing depends on them.
_PLACES = 20_240


@dataclass(frozen=True)
class Check:
    """One test: how likely noise of the right law looks as odd as this."""

    name: str
    p_value: float


@dataclass(frozen=True)
class LawAudit:
    """What a law audit found.

    Parameters
    ----------
    what : str
        The law.
    measured : float
        The privacy loss of noise as small as what was drawn; an estimate.
    charged : float
        What the ledger says.
    currency : str
        What both are counted in.
    draws : int
        How many vectors were looked at.
    checks : tuple of Check
        All tests; the audit fails if one falls below the level.
    level : float
        Probability of a false alarm, all checks together.
    """

    what: str
    measured: float
    charged: float
    currency: str
    draws: int
    checks: tuple[Check, ...]
    level: float

    @property
    def worst(self) -> Check:
        """The test that looks oddest."""
        return min(self.checks, key=lambda check: check.p_value)

    @property
    def passed(self) -> bool:
        """Whether the draws may well have the law."""
        return self.worst.p_value >= self.level / len(self.checks)

    def __str__(self) -> str:
        word = "fits" if self.passed else "does not fit"
        return (
            f"{word}: {self.what}, charged {self.charged:.4g} {self.currency}, measured {self.measured:.4g} "
            f"({self.worst.name}: p = {self.worst.p_value:.2g}, {self.draws} draws)"
        )


def audit_law(
    law: NoiseLaw,
    sampler: Sampler | None = None,
    *,
    change: RowChange | None = None,
    unit: Unit | None = None,
    draws: int = 20_000,
    entropy: Entropy | None = None,
    level: float = LEVEL,
) -> LawAudit:
    """Draw noise and test it against the law that is charged.

    Parameters
    ----------
    law : NoiseLaw
        What is claimed: the law, and its price.
    sampler : callable, optional
        ``sampler(entropy, n)`` returns n noise vectors; the law's own if not given.
    change : RowChange, optional
        What one row can change; then the price itself is computed again.
    unit : Unit, optional
        Whom the price protects.
    draws : int
        How many vectors.
    entropy : Entropy, optional
        The operating system's generator if not given.
    level : float
        Probability of a false alarm.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> law = design(RowChange(STEPS, 2), Fraction(1), "epsilon", Unit(), "linf")
    >>> audit_law(law, entropy=SeededEntropy(0)).passed
    True
    >>> print(audit_law(law, lambda entropy, n: law.draw(entropy, n) // 5, entropy=SeededEntropy(0)))
    does not fit: discrete L-infinity..., measured 5... (law of number 0: p = 0, 20000 draws)
    """
    draw = sampler or law.draw
    noise = np.asarray(draw(entropy or SystemEntropy(), draws))
    checks = [*check_noise([(law, noise)]), Check("is drawn afresh", 0.0 if _repeats(draw) else 1.0)]
    if change is not None:
        true = corner_loss(law, change, unit or Unit())
        checks.append(Check("is charged for", float(true <= float(law.amount) * (1 + 1e-9))))
    return _audit(law.describe(), [(law, noise)], float(law.amount), law.currency, checks, level)


def audit_draws(
    groups: list[tuple[NoiseLaw, Array]], what: str, charged: float, level: float = LEVEL
) -> LawAudit:
    """Test noise that was drawn elsewhere, under one law or several."""
    return _audit(what, groups, charged, groups[0][0].currency, check_noise(groups), level)


def _audit(
    what: str,
    groups: list[tuple[NoiseLaw, Array]],
    charged: float,
    currency: str,
    checks: list[Check],
    level: float,
) -> LawAudit:
    # The losses of coordinates and rounds add up, so their mean is that of the whole.
    factor = sum(float(law.amount) * loss_factor(law, noise) for law, noise in groups)
    measured = charged * factor / sum(float(law.amount) for law, _ in groups)
    return LawAudit(what, measured, charged, currency, sum(len(n) for _, n in groups), tuple(checks), level)


def check_noise(groups: list[tuple[NoiseLaw, Array]]) -> list[Check]:
    """Test noise of several laws together: the right law makes all of them uniform and independent."""
    whole = all(np.array_equal(noise, np.rint(noise)) for _, noise in groups)
    found = [Check("is whole numbers", float(whole)), Check("is never the same twice", _twice(groups))]
    rng = np.random.default_rng(_PLACES)
    alike: dict[int, list[Array]] = {}
    for law, noise in groups:
        u = uniforms(law, noise, rng)
        alike.setdefault(u.shape[1], []).append(u)
    for parts in alike.values():
        u = np.concatenate(parts)
        if len(u) >= FEWEST:
            found += _check_uniform(u)
    return found


def _check_uniform(u: Array) -> Iterator[Check]:
    n, columns = u.shape
    laws = [float(stats.kstest(u[:, i], "uniform").pvalue) for i in range(columns)]
    odd = int(np.argmin(laws))
    yield Check(f"law of number {odd}", min(1.0, laws[odd] * columns))
    # Noise may be shared in sign or in size.
    for word, values in (("", u - 0.5), ("sizes of ", np.abs(u - 0.5) - 0.25)):
        spread = np.maximum(values.std(axis=0), 1e-12)
        scaled = (values - values.mean(axis=0)) / spread
        if columns > 1:
            between = np.abs(np.triu(scaled.T @ scaled / n, 1))
            i, j = np.unravel_index(int(between.argmax()), between.shape)
            pairs = columns * (columns - 1) // 2
            yield Check(f"independence of {word}numbers {i} and {j}", _p_of(between[i, j], n, pairs))
        after = np.abs((scaled[1:] * scaled[:-1]).mean(axis=0))
        yield Check(f"independence of {word}successive draws", _p_of(float(after.max()), n, columns))


def _p_of(correlation: float, n: int, tries: int) -> float:
    return min(1.0, tries * 2 * float(stats.norm.sf(correlation * math.sqrt(n))))


def _twice(groups: list[tuple[NoiseLaw, Array]]) -> float:
    # Only on lattices so fine that a vector coming twice cannot be chance.
    chance, repeated = 0.0, False
    for law, noise in groups:
        pairs = len(noise) * (len(noise) - 1) / 2
        expected = pairs * math.exp(-float(np.log(2 * np.maximum(law.sd, 0.5)).sum()))
        if expected < LEVEL / 100 and len(np.unique(noise, axis=0)) < len(noise):
            chance, repeated = chance + expected, True
    return chance if repeated else 1.0


def corner_loss(law: NoiseLaw, change: RowChange, unit: Unit) -> float:
    """Return the loss of one row at a corner of its body: for a box, the most that these laws can lose.

    Examples
    --------
    >>> from fractions import Fraction
    >>> law = design(RowChange(STEPS, 100), Fraction(1), "epsilon", Unit(), "laplace")
    >>> round(corner_loss(law, RowChange(STEPS, 100), Unit()), 4)
    1.0
    """
    reach = change.width
    inner = math.isqrt(reach**2 // change.n_values) if change.ball else reach
    corner = np.array([[inner] * change.n_values + [reach] * len(change.extras)])
    if not law.pure:
        return law.shift_loss(corner) * unit.max_rows**2 * (2 if unit.replace else 1)
    pure = float(law.most_lost(corner)[0]) * unit.rows_apart
    return pure if law.currency == "epsilon" else pure**2 / 2


def _repeats(sampler: Sampler) -> bool:
    """Say whether fresh calls, copies, or calls after seeding the public generators give the same noise."""

    def seeded() -> Any:
        np.random.seed(0)  # noqa: NPY002 - the old global generator is what a careless sampler draws from
        random.seed(0)
        return np.asarray(sampler(SystemEntropy(), FEWEST))

    def copied() -> Any:
        return np.asarray(pickle.loads(pickled)(SystemEntropy(), FEWEST))

    tries: list[Callable[[], Any]] = [lambda: np.asarray(sampler(SystemEntropy(), FEWEST)), seeded]
    try:
        pickled = pickle.dumps(sampler)
        tries.append(copied)
    except Exception:  # what cannot be pickled cannot be copied
        pickled = b""
    with _global_generators_kept():
        return any(np.array_equal(once(), once()) for once in tries)


@contextmanager
def _global_generators_kept() -> Iterator[None]:
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


def audit_samplers(
    epsilon: float, *, draws: int = 20_000, entropy: Entropy | None = None, level: float = LEVEL
) -> list[LawAudit]:
    """Audit every law the gate draws, on its real lattice: a count, and sums of two columns with a count."""
    if draws < FEWEST:
        raise InvalidInput(f"draws is {draws}; at least {FEWEST} are wanted")
    found: dict[str, LawAudit] = {}
    for change in (RowChange(1, 0), RowChange(STEPS, 2), RowChange(STEPS, 2, ball=True)):
        for noise in noises_for(change):
            budget = budget_of(epsilon, 0.0 if noise in PURE else 1e-6)
            law = design(change, budget.amount, budget.currency, Unit(), noise)
            if law.describe() not in found:  # without sums, the pure laws are one
                found[law.describe()] = audit_law(
                    law, change=change, draws=draws, entropy=entropy, level=level
                )
    return list(found.values())
