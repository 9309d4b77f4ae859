"""What released groups are like in columns that did not decide them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from shoal.accounting import Approx, Pure
from shoal.algorithms import PROFILES
from shoal.algorithms.profile import GroupMeans, Profile
from shoal.domain import Bounds, Domain, Schema, Unit
from shoal.errors import InvalidBounds, InvalidInput
from shoal.estimators.fitting import FitPlan, PrivateFit
from shoal.estimators.steps import StepCommon, StepParameters
from shoal.queries import Transcript
from shoal.release import Release
from shoal.release.step import StepRelease
from shoal.release.told import Told, with_error
from shoal.sources import OpenTable, open_beside


class GroupProfile(StepParameters, PrivateFit):
    """Noisy means of further columns for each group of a release, such as how old its people are.

    Which group a row is in is decided by the released centres and the columns that were clustered; the
    columns that are profiled play no part in it. It is a question of its own about the table and costs a
    budget of its own: share an accountant with the fit.

    Parameters
    ----------
    release : Release
        Whose groups.
    epsilon : float
        Privacy loss allowed for the profile.
    bounds : mapping of column name to (lower, upper)
        The columns to profile, with their public bounds; rows are clipped to them.
    **common
        As in :class:`shoal.estimators.steps.StepParameters`; `levels` are those of columns to profile.

    Attributes
    ----------
    means_, means_noise_sd_ : ndarray of shape (n_groups, n_profiled)
        Noisy means in the table's own units, and the standard deviation of their noise. Of a group that may
        be empty: the middle of the bounds, and half their width. Missing cells count as the middle.
    sizes_ : ndarray of shape (n_groups,)
        Noisy numbers of rows.
    names_ : tuple of str
        The profiled columns.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from shoal import Accountant, GroupProfile, KMeans
    >>> rng = np.random.default_rng(0)
    >>> north = rng.random(10_000) < 0.5
    >>> people = pd.DataFrame({"lat": np.where(north, 8, 2) + rng.normal(0, 0.5, 10_000)})
    >>> people["age"] = np.where(north, 30, 60) + rng.normal(0, 5, 10_000)
    >>> budget = Accountant(epsilon=1.5)
    >>> model = KMeans(2, epsilon=1.0, bounds={"lat": (0, 10)}, budget=budget).fit(people)
    >>> profile = GroupProfile(model.release_, epsilon=0.5, bounds={"age": (0, 100)}, budget=budget)
    >>> np.sort(profile.fit(people).means_[:, 0]).round(-1)
    array([30., 60.])
    """

    _registered = "profile"
    _registry = PROFILES

    def __init__(
        self,
        release: Release,
        *,
        epsilon: float,
        bounds: Mapping[str, Any] | None = None,
        **common: Unpack[StepCommon],
    ) -> None:
        super().__init__(epsilon=epsilon, **common)
        self.release = release
        self.bounds = bounds

    def _open(self, X: Any, sample_weight: Any) -> OpenTable:
        return open_beside(
            X, self._known(), bounds=self._given(), levels=self.levels, unit=self.unit, weights=sample_weight
        )

    def _plan(self, schema: Schema, unit: Unit, *, weighted: bool) -> FitPlan:
        budget, _ = self._choose(weighted=weighted)
        known, before = self._known(), self.release.domain
        old = {name: j for j, name in enumerate(known.names or ())}
        names = schema.names or ()
        profiled = [field for field in schema.fields if field.name not in {f.name for f in known.fields}]
        if not profiled:
            raise InvalidInput("there is nothing to profile: bounds name columns that were not clustered")
        fresh_schema = Schema(tuple(profiled))
        fresh = fresh_schema.bounds(self._given() or None)
        if fresh.unknown:
            raise InvalidBounds("bounds of the columns to profile must be given by name")
        new = {name: j for j, name in enumerate(fresh_schema.names or ())}
        lower, upper, weights = [], [], []
        for name in names:
            of, j = (before.bounds, old[name]) if name in old else (fresh, new[name])
            lower.append(of.lower[j])
            upper.append(of.upper[j])
            usual = 1.0 if before.column_weights is None else before.column_weights[old.get(name, 0)]
            weights.append(usual if name in old else 0.0)  # it plays no part in the distance
        domain = Domain(
            Bounds(tuple(lower), tuple(upper), "those of the groups, and given"),
            before.scaling,
            "centre",
            unit,
            schema.names,
            max_weight=self._max_weight() if weighted else None,
            schema=schema,
            column_weights=tuple(weights),
        )
        clustered = tuple(names.index(name) for name in old)
        others = tuple(j for j in range(len(names)) if j not in set(clustered))
        scaled = before.encode(list(self.release.centres.T)).columns.T.astype(np.float64)
        algorithm = GroupMeans(tuple(tuple(map(float, centre)) for centre in scaled), clustered, others)
        algorithm.check(domain)
        return FitPlan(budget, domain, algorithm)

    def _known(self) -> Schema:
        if not isinstance(self.release, Release):
            raise InvalidInput(
                f"release is {self.release!r}; give the release_ of a fitted model, or load one"
            )
        schema = self.release.domain.schema
        if schema is None or not schema.named:
            raise InvalidInput("the groups are of columns without names: cluster a data frame or a file")
        return schema

    def _given(self) -> dict[str, Any]:
        given = {} if self.bounds is None else self.bounds
        if not isinstance(given, Mapping):
            raise InvalidBounds(f"bounds are {given!r}; give a mapping {{column to profile: (low, high)}}")
        return dict(given)

    def _algorithm(self, budget: Pure | Approx) -> Any:  # noqa: ARG002 - it is made of the schema
        return None

    def _keep(self, found: Profile, transcript: Transcript) -> None:
        self.release_ = StepRelease(found, self.certificate_, transcript)
        self.transcript_ = transcript
        self.names_ = tuple(self.release_.names[j] for j in found.profiled)
        values = found.values
        self.means_, self.means_noise_sd_ = values["mean"], values["mean_noise_sd"]
        self.sizes_ = np.maximum(values["size"], 0.0)

    def told(self) -> Told:
        """Return the profile as a person reads it: a line for each group."""
        lines = [
            [
                f"{i}",
                *(with_error(*pair) for pair in zip(self.means_[i], self.means_noise_sd_[i], strict=True)),
                f"{size:,.0f}",
            ]
            for i, size in enumerate(self.sizes_)
        ]
        return Told(["group", *self.names_, "size"], lines)
