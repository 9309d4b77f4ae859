"""Which epsilon, and which number of rows, a wanted accuracy needs: tried out on made-up rows.

The estimator itself is run on rows of a public shape, with public seeds: no table is read and nothing is
spent. What noise does to centres hangs on epsilon times the number of rows, so one curve over that product
answers both questions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shoal._typing import Array
from shoal.errors import InvalidInput, ShoalWarning
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import check_count
from shoal.postprocess.packing import pack
from shoal.release import Release, SynopsisRelease
from shoal.release.totals import shown_by

ROWS = 10_000
"""Rows that are made up for a run; epsilon is chosen so that its product with them is the one asked for."""
# Products of epsilon and rows that are tried: from a hundred rows at epsilon 1 to ten million.
_PRODUCTS = 10.0 ** np.arange(2.0, 7.01, 0.5)


class Shape(Protocol):
    """A table that can be made up."""

    def rows(self, n: int, seed: int) -> Array:
        """Return rows in [-1, 1], each column scaled to its bounds."""
        ...


@dataclass(frozen=True)
class EvenGroups:
    """A public shape: so many round groups of one size, spread over the bounds.

    Parameters
    ----------
    n_groups : int
        How many.
    width : float
        The standard deviation of a group in each column, as a share of half the width of the bounds.
    columns : int
        How many columns.
    """

    n_groups: int
    width: float
    columns: int = 2

    def __post_init__(self) -> None:
        check_count(self.n_groups, "n_groups")
        check_count(self.columns, "columns")
        if not 0 < self.width < 1:
            raise InvalidInput(
                f"width is {self.width!r}; it is a share of half the bounds: above 0 and below 1"
            )

    def rows(self, n: int, seed: int) -> Array:
        """Return rows in [-1, 1]."""
        rng = np.random.default_rng(seed)
        places = pack(self.n_groups, self.columns, rng)
        group = np.arange(n) % self.n_groups
        return np.asarray(np.clip(places[group] + rng.normal(0, self.width, (n, self.columns)), -1, 1))


@dataclass(frozen=True)
class Plan:
    """How accurate a fit is for each product of epsilon and rows.

    Parameters
    ----------
    error : float
        The wanted accuracy: how far centres may be off, in widths of a group.
    products : tuple of float
        Epsilon times rows.
    errors, worst : tuple of float
        How far centres were off: in the middle one of the runs, and in the worst.
    runs : int
        How often each was tried.
    """

    error: float
    products: tuple[float, ...]
    errors: tuple[float, ...]
    worst: tuple[float, ...]
    runs: int

    @property
    def needed(self) -> float | None:
        """The smallest product of epsilon and rows that is accurate enough; None if none of them is."""
        good = [error <= self.error for error in self.errors]
        if not good[-1]:
            return None
        first = len(good) - next((i for i, ok in enumerate(reversed(good)) if not ok), len(good))
        if first == 0:
            return self.products[0]
        # Between the last that is not good enough and the first that is, on logarithmic scales.
        ends = np.log([self.errors[first - 1], max(self.errors[first], 1e-12)])
        share = (ends[0] - math.log(self.error)) / (ends[0] - ends[1])
        low, high = np.log(self.products[first - 1]), np.log(self.products[first])
        return float(np.exp(low + min(max(share, 0.0), 1.0) * (high - low)))

    def epsilon_for(self, rows: float) -> float | None:
        """Return the epsilon that so many rows need, with two digits; None if none that was tried will do.

        Parameters
        ----------
        rows : float
            A public or guessed number of rows.
        """
        return None if self.needed is None else _up(self.needed / _positive(rows, "rows"))

    def rows_for(self, epsilon: float) -> float | None:
        """Return how many rows an epsilon needs, with two digits; None if none that was tried will do.

        Parameters
        ----------
        epsilon : float
            Privacy loss allowed.
        """
        return None if self.needed is None else _up(self.needed / _positive(epsilon, "epsilon"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        curve = zip(self.products, self.errors, self.worst, strict=True)
        points = [{"epsilon_times_rows": p, "error": e, "worst": w} for p, e, w in curve]
        return {"error": self.error, "needed": self.needed, "runs": self.runs, "curve": points}

    def plot(self) -> Any:
        """Draw the curve, with the wanted accuracy; a matplotlib figure (extra `plot`)."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise InvalidInput("drawing needs matplotlib: pip install 'shoal[plot]'") from None
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(self.products, self.errors, self.worst, color="#2a78d6", alpha=0.2, linewidth=0)
        axes.plot(self.products, self.errors, color="#12355b", marker="o", markersize=4, label="middle run")
        axes.plot(self.products, self.worst, color="#2a78d6", linewidth=0.8, label=f"worst of {self.runs}")
        axes.axhline(self.error, color="#c8452c", linestyle="--", linewidth=1.2, label="wanted")
        if self.needed is not None:
            axes.axvline(self.needed, color="#c8452c", linewidth=0.8)
        axes.set(
            xscale="log", yscale="log", xlabel="epsilon times rows", ylabel="error, in widths of a group"
        )
        axes.grid(True, color="#e4e4e4", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        return figure

    def __str__(self) -> str:
        lines = ["epsilon x rows   error, in widths of a group   worst run"]
        for product, error, worst in zip(self.products, self.errors, self.worst, strict=True):
            mark = "  good enough" if error <= self.error else ""
            lines.append(f"{product:>14,.0f}   {error:>27.3g}   {worst:>9.3g}{mark}")
        if self.needed is None:
            return "\n".join([*lines, f"\nAn error of {self.error:g} is not reached: see the curve."])
        usual = ((1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000"), (1e6, "a million"))
        figures = [f"{name} rows need epsilon {self.epsilon_for(rows):g}" for rows, name in usual]
        wanted = [f"epsilon {e:g} needs {self.rows_for(e):,.0f} rows" for e in (0.1, 0.5, 1.0)]
        return "\n".join([*lines, f"\nFor an error of {self.error:g}:", *figures, *wanted])


def plan(
    model: PrivateKMeans,
    shape: EvenGroups | SynopsisRelease | Release,
    *,
    error: float,
    runs: int = 5,
    seed: int = 0,
) -> Plan:
    """Say which epsilon, and which number of rows, a wanted accuracy needs.

    The model is fitted on made-up rows of the shape, with public seeds, at products of epsilon and rows from
    a hundred to ten million. No table is read, and nothing is spent. It takes about half a minute.

    Parameters
    ----------
    model : estimator
        What is to be fitted: its algorithm, number of groups, delta, and whom it protects. Its epsilon and
        bounds do not matter here.
    shape : EvenGroups, SynopsisRelease or Release
        What the table is like: a named public shape, or a look at it that was released, by itself or under
        groups.
    error : float
        How far centres may be off in the middle one of the runs, in widths of a group (standard deviations).
    runs : int
        How often each product is tried.
    seed : int
        Public; the same one gives the same plan.

    Examples
    --------
    >>> from shoal import DPLloyd, EvenGroups, plan
    >>> found = plan(DPLloyd(1, epsilon=1.0), EvenGroups(1, width=0.2, columns=1), error=0.1, runs=1)
    >>> 10 < found.rows_for(1.0) < 10_000
    True
    """
    if not isinstance(model, PrivateKMeans) or not isinstance(model.n_clusters, int):
        raise InvalidInput(f"{model!r} finds no fixed number of groups; give KMeans(5, ...) or the like")
    _positive(error, "error")
    check_count(runs, "runs")
    apart = model._unit().rows_apart
    tried = [list(_errors(model, shape, float(p), runs, seed)) for p in _PRODUCTS]
    # Everything is drawn for as many rows as a person may have.
    products = tuple(float(product) * apart for product in _PRODUCTS)
    middle, worst = ([float(f(errors)) for errors in tried] for f in (np.median, np.max))
    return Plan(float(error), products, _steady(middle), _steady(worst), runs)


def _steady(values: list[float]) -> tuple[float, ...]:
    """Let what is stated hold for all larger products too: more budget makes it worse by chance alone."""
    return tuple(float(value) for value in np.maximum.accumulate(values[::-1])[::-1])


def _errors(model: Any, shape: Any, product: float, runs: int, seed: int) -> Iterator[float]:
    """Yield how far centres are off in each run, in widths of a group."""
    # Here, not above: they take a second to load, and no fit needs them.
    from scipy.optimize import linear_sum_assignment
    from sklearn.base import clone
    from sklearn.cluster import KMeans as PlainKMeans

    usual = {"bounds": (-1, 1), "epsilon": product / ROWS, "neighbours": "add-remove", "verbose": False}
    nobody = dict.fromkeys(("unit", "n_rows", "budget", "levels", "cyclic", "column_weights", "max_weight"))
    for run in range(runs):
        rows = _made_up(shape, seed + run)
        k = model.n_clusters
        best = PlainKMeans(k, n_init=4, random_state=seed).fit(rows)
        width = math.sqrt(best.inertia_ / rows.size)
        copy = clone(model).set_params(
            **usual, **nobody, max_rows=1, scaling="bounds", missing="centre", random_state=seed + run
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)
            found = copy.fit(rows).cluster_centers_
        apart = ((best.cluster_centers_[:, np.newaxis] - found) ** 2).mean(axis=2)
        yield math.sqrt(apart[linear_sum_assignment(apart)].mean()) / max(width, 1e-12)


def _made_up(shape: Any, seed: int) -> Array:
    if isinstance(shape, EvenGroups):
        return shape.rows(ROWS, seed)
    if isinstance(shape, Release):
        shown = shown_by(shape)
        if shown is None:
            raise InvalidInput(f"{shape!r} has no look that rows could be made up from")
        return shown.draw(ROWS, np.random.default_rng(seed))
    if not isinstance(shape, SynopsisRelease):
        raise InvalidInput(f"shape is {shape!r}; give EvenGroups(...), a released synopsis or a release")
    bounds = shape.domain.bounds
    half = np.where(bounds.half_width > 0, bounds.half_width, 1.0)
    return np.asarray((shape.sample(ROWS, rng=seed, like="numpy") - bounds.middle) / half)


def _positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidInput(f"{name} is {value!r}; it must be a number above 0")
    return float(value)


def _up(value: float) -> float:
    """Round up to two digits.

    Examples
    --------
    >>> _up(0.01234), _up(98_765)
    (0.013, 99000.0)
    """
    digits = 1 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits, max(digits, 0))
