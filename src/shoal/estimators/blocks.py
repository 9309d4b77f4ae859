"""A fit of random blocks of rows, charged together: a row is in one block (Feldman et al., section 4.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.accounting import Approx, Budget, Pure, zones_hit
from shoal.algorithms import run_prepared
from shoal.errors import InvalidInput
from shoal.estimators.face import columns_seen
from shoal.estimators.fitting import FitPlan, running
from shoal.estimators.parameters import accountant_for, entropy_for
from shoal.mechanisms import public_seed
from shoal.queries.gate.codec import digest
from shoal.queries.gate.dealt import Block, DealtSource
from shoal.release.coreset import CoresetRelease, Part


def budget_of_block(whole: Pure | Approx, most: int) -> Budget:
    """Return what each block may spend, so that a unit that is in `most` of them loses no more than `whole`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> budget_of_block(Pure(Fraction(1)), 2).describe()
    'epsilon = 0.5'
    """
    if most == 1:
        return whole
    if isinstance(whole, Approx):  # so that what merged parts state adds up to it
        return Approx(whole.epsilon / most, whole.delta / most)
    return Pure(whole.amount / most)


def check_blocks(model: Any) -> None:
    """Refuse what does not go with blocks, from public values."""
    refused = {
        "zones": (model.zones is not None, "both cut the table"),
        "n_rows": (model.n_rows is not None, "how many rows are in a block depends on the data"),
        "unit": (model.unit is not None, "a person may be in every block, so all of them would add up"),
        "bounds=None": (model.bounds is None, "each block would estimate its own"),
        "count_clipped": (bool(model.count_clipped), "cells are clipped in the whole table"),
    }
    for name, (given, why) in refused.items():
        if given:
            raise InvalidInput(f"{name} cannot go with n_blocks above 1: {why}")


def one_block(model: Any, plan: FitPlan, rows: float) -> tuple[FitPlan, float]:
    """Return the plan of one block, and about how many rows it has."""
    check_blocks(model)
    unit = plan.domain.unit
    own = budget_of_block(plan.budget, zones_hit(unit.neighbours, unit.max_rows))  # type: ignore[arg-type]
    return replace(plan, budget=own), max(rows / model.n_blocks, 1.0)


def fit_blocks(model: Any, X: Any, sample_weight: Any) -> CoresetRelease:
    """Make a coreset of every block of rows, and join them.

    Parameters
    ----------
    model : PrivateCoreset
        With its number of blocks; it is not changed.
    X : table
        As for `fit`.
    sample_weight : array-like or str, optional
        Weights of the rows.
    """
    check_blocks(model)
    unit, entropy, threads = model._unit(), entropy_for(model), model._threads()
    table, n = model._open(X, sample_weight), int(model.n_blocks)
    columns_seen(model, table, first=True)
    plan = model._plan(table.schema, unit, weighted=sample_weight is not None)
    own, most = one_block(model, plan, 1.0)[0].budget, zones_hit(unit.neighbours, unit.max_rows)
    planned = digest((plan, n, entropy.describe()))
    reserved = accountant_for(model, plan.budget).reserve(
        plan.budget,
        f"{type(model).__name__}.fit",
        unit,
        # Which rows are in which block is drawn anew for every fit, and once where it is resumed.
        key=public_seed(entropy),
        plan=planned,
        zones=most,
    )
    found = []
    with running(model, reserved, entropy, model._watching(table.schema)) as run:
        rows = table.source(plan.domain, threads=threads)
        for number in range(n):
            source = DealtSource(rows, Block(run.allowance.key % 2**64, number, n))
            curator = run.curator_of_part(source, plan.domain, number, f"block {number + 1}", own)
            found.append((curator, run_prepared(plan.algorithm, curator, count_clipped=False)))
    return CoresetRelease(
        tuple(
            Part(one, run.certificate(curator, one.domain, plan.algorithm), curator.transcript)
            for curator, one in found
        )
    )
