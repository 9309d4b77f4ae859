"""Mechanisms that leak, each in a way that is known from published code, beside honest ones that do not.

An audit that lets one of the leaking ones pass is worth nothing; `catch_controls.py` tells what was found.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal import DPLloyd
from shoal.algorithms import Clustering
from shoal.domain import STEPS, Unit
from shoal.mechanisms import (
    SeededEntropy,
    binomial_tail,
    discrete_laplace,
    distinct_below,
    geometric_exp,
)
from shoal.queries.laws.laplace import Laplace
from shoal.queries.laws.noise import NoiseLaw, design
from shoal.queries.questions.sparse import draw
from shoal.queries.statistics.aggregates import RowChange

START = np.array([[-0.6, -0.6], [0.6, 0.6]])


@dataclass(frozen=True)
class Mechanism:
    """Something to run: a claim, and a way to keep it or not."""

    epsilon: float
    honest: bool

    def __call__(self, table, seed=None):
        return self.run(table, np.random.default_rng(seed))


class EmptyClusters(Mechanism):
    """One round of Lloyd that leaves clusters without rows alone (as diffprivlib does)."""

    def run(self, table, rng):
        labels = ((table[:, np.newaxis] - START) ** 2).sum(axis=2).argmin(axis=1)
        centres, scale = START.copy(), 3 / self.epsilon
        for k in range(2):
            rows = table[labels == k]
            if len(rows) == 0 and not self.honest:
                continue
            noisy_count = len(rows) + rng.laplace(scale=scale)
            centres[k] = np.clip(
                (rows.sum(axis=0) + rng.laplace(scale=scale, size=2)) / max(noisy_count, 1), -1, 1
            )
        return centres


class Bounds(Mechanism):
    """A noisy mean, scaled by the smallest and largest value of the table."""

    def run(self, table, rng):
        low, high = (-1.0, 1.0) if self.honest else (table.min(), table.max())
        scaled = np.clip((table - low) / max(high - low, 1e-9), 0, 1)
        noise = rng.laplace(scale=3 / self.epsilon, size=3)
        mean = (scaled.sum(axis=0) + noise[:2]) / max(len(table) + noise[2], 1)
        return low + (high - low) * np.clip(mean, 0, 1)


class GridBySize(Mechanism):
    """A noisy histogram whose side is round(sqrt(N epsilon / 10)) (Su et al., with the exact N)."""

    def run(self, table, rng):
        n, epsilon = len(table), self.epsilon
        if self.honest:
            epsilon /= 2
            n += rng.laplace(scale=1 / epsilon)
        side = max(1, round(np.sqrt(max(n, 1) * self.epsilon / 10)))
        counts, *_ = np.histogram2d(*table.T, bins=side, range=[[-1, 1], [-1, 1]])
        return counts + rng.laplace(scale=1 / epsilon, size=counts.shape)


class ByTheMean(Mechanism):
    """Counts on both sides of zero, or of the mean of all rows: then a row's side depends on the others."""

    def run(self, table, rng):
        middle = 0.0 if self.honest else table[:, 0].mean() + 1e-9
        above = (table[:, 0] > middle).sum()
        return np.array([above, len(table) - above]) + rng.laplace(scale=1 / self.epsilon, size=2)


class FloatNoise(Mechanism):
    """A count with floating-point Laplace noise, whose grain shows what it was added to (Mironov 2012)."""

    def __call__(self, table, seed=None):
        if self.honest:
            rate = Fraction(str(self.epsilon))
            return float(len(table) + discrete_laplace(SeededEntropy(seed), rate, 1)[0])
        return len(table) + np.random.default_rng(seed).laplace(scale=1 / self.epsilon)


class ManyRows(Mechanism):
    """A count of rows where a person has many: charged as if each had one, or for two and cut to two."""

    def run(self, table, rng):
        who = np.array(table["who"].to_pylist())
        most = 2 if self.honest else 1
        counted = sum(min(n, 2) if self.honest else n for n in np.unique(who, return_counts=True)[1])
        return counted + rng.laplace(scale=most / self.epsilon)


# Assignment behind the gate, for replay.


@dataclass(frozen=True)
class MeanSides:
    """A partition whose cells are above and below the mean of the chunk it is given."""

    n_cells = 2

    def assign(self, columns, metric):
        middle = columns[0].mean() if columns.shape[1] else 0.0
        return (columns[0] > middle).astype(np.int32)

    def describe(self):
        return "above or below the mean"


@dataclass(frozen=True)
class MeanSidesLloyd:
    """An algorithm that asks about those cells."""

    def run(self, curator):
        answer = curator.sums(MeanSides(), share=Fraction(1))
        return Clustering(answer.sums, answer.counts, answer.sums, 0.0, 1, 0.0, curator.domain)


# Noise: a claimed law and a sampler that draws another.

WIDE = RowChange(STEPS, 100)
NARROW = RowChange(STEPS, 2)


def honest_law(change=NARROW, noise="split", epsilon=1):
    return design(change, Fraction(epsilon), "epsilon", Unit(), noise)


def swapped_split(epsilon=1):
    """The sums' and the count's shares, unpacked in the wrong order (diffprivlib 0.6): 2.66 times as much."""
    law = honest_law(WIDE, epsilon=epsilon)
    sums, count = law.blocks
    swapped = (Laplace(count.parameter, sums.n), Laplace(sums.parameter, count.n))
    return law, NoiseLaw(swapped, law.amount, law.currency).draw


def a_fifth(epsilon=1):
    """The count's noise at a fifth of its scale."""
    law = honest_law(epsilon=epsilon)
    sums, count = law.blocks
    return law, NoiseLaw((sums, replace(count, parameter=5 * count.parameter)), law.amount, law.currency).draw


def shared(entropy, n):
    """One draw for the sums and the count of a cell."""
    noise = honest_law(noise="laplace").draw(entropy, n)
    noise[:, 2] = noise[:, 0]
    return noise


def shared_size(entropy, n):
    """As above, with a sign of its own: not correlated, but as large."""
    noise = honest_law(noise="laplace").draw(entropy, n)
    noise[:, 2] = np.abs(noise[:, 0]) * np.sign(noise[:, 2])
    return noise


def seeded(entropy, n):
    """The same noise for everybody who knows the code."""
    return honest_law().draw(SeededEntropy(42), n)


def seeded_globally(entropy, n):
    """Noise from numpy's global generator, which anyone may seed."""
    return honest_law().draw(SeededEntropy(int(np.random.randint(2**31))), n)  # noqa: NPY002


# Filtered histograms: what `shoal.queries.questions.sparse.draw` must not do.


def without_empty_cells(exact, n_cells, rate, threshold, entropy):
    """Noise on occupied cells alone: that a cell is kept shows that somebody is there."""
    noisy = exact.counts + discrete_laplace(entropy, rate, len(exact.counts))
    kept = noisy >= threshold
    return exact.cells[kept], noisy[kept]


def occupied_first(exact, n_cells, rate, threshold, entropy):
    """The right cells and counts, in an order that tells which were empty."""
    cells, counts = draw(exact, n_cells, rate, threshold, entropy)
    order = np.argsort(~np.isin(cells, exact.cells), kind="stable")
    return cells[order], counts[order]


def half_the_noise(exact, n_cells, rate, threshold, entropy):
    """Twice the rate that is charged for."""
    return draw(exact, n_cells, 2 * rate, threshold, entropy)


def places_of_empty_cells_alone(exact, n_cells, rate, threshold, entropy):
    """The number of lifted cells drawn for all, but their places among the empty ones."""
    cells, counts = without_empty_cells(exact, n_cells, rate, threshold, entropy)
    empty = np.setdiff1d(np.arange(n_cells), exact.cells)
    lifted = binomial_tail(entropy, n_cells, rate, threshold)
    more = empty[distinct_below(entropy, len(empty), min(lifted, len(empty)))]
    values = threshold + geometric_exp(entropy, rate, len(more))
    order = np.argsort(np.concatenate([cells, more]))
    return np.concatenate([cells, more])[order], np.concatenate([counts, values])[order]


class KeepsLabels(DPLloyd):
    """A model with the labels of its rows, as scikit-learn's."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_ = self.predict(X)
        return self


class KeepsSizes(DPLloyd):
    """A model with exact sizes."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.exact_sizes_ = np.bincount(self.predict(X), minlength=self.n_clusters)
        return self


class KeepsRow(DPLloyd):
    """A model with one row."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.example_ = X[len(X) // 2 - len(X) // 2 % 5].copy()
        return self


class KeepsSizeOnce(DPLloyd):
    """An honest model that holds an exact size by chance, the first time it is fitted."""

    fits = 0

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        if KeepsSizeOnce.fits == 0:
            self.lucky_ = int(np.bincount(self.predict(X)).max())
        KeepsSizeOnce.fits += 1
        return self


class SaysHowMany(DPLloyd):
    """A model that prints the number of rows."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self._n = str(len(X))
        return self

    def __repr__(self):
        return f"SaysHowMany of {getattr(self, '_n', '?')} rows"


BLACK_BOX = {
    "no noise on empty clusters": (EmptyClusters, "alone"),
    "bounds from the rows": (Bounds, "widest"),
    "a grid sized by the exact N": (GridBySize, "jump"),
    "cells that depend on other rows": (ByTheMean, "corner"),
    "floating-point noise": (FloatNoise, "empty"),
    "a person with many rows": (ManyRows, "person"),
}


# The law that is claimed, what is drawn, and how far one row moves the numbers.
LAWS = {
    "swapped budget shares at 100 columns": (*swapped_split(), WIDE),
    "a count at a fifth of its noise": (*a_fifth(), NARROW),
    "noise shared by sum and count": (honest_law(noise="laplace"), shared, NARROW),
    "noise as large for sum and count": (honest_law(noise="laplace"), shared_size, NARROW),
    "seeded noise": (honest_law(), seeded, NARROW),
    "noise from a global generator": (honest_law(), seeded_globally, NARROW),
}
FILTERS = {
    "no noise on empty cells": without_empty_cells,
    "occupied cells first": occupied_first,
    "a filter with half the noise": half_the_noise,
    "places of empty cells alone": places_of_empty_cells_alone,
}
CONTENTS = {
    "a model that keeps labels": KeepsLabels,
    "a model that keeps sizes": KeepsSizes,
    "a model that keeps a row": KeepsRow,
    "a model that says how many rows": SaysHowMany,
}
