"""Audit every control and its honest twin; run as a script, keep it for `shoal audit --results`."""

import argparse
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
from controls import BLACK_BOX, CONTENTS, FILTERS, LAWS, MeanSidesLloyd

from shoal import DPLloyd
from shoal.accounting import Accountant, budget_of
from shoal.audit import Finding, audit, audit_law, audit_replay, canary, pair_loss
from shoal.audit.contents import audit_model_contents
from shoal.audit.filters import audit_filter
from shoal.audit.findings_store import Kept
from shoal.audit.replay import check_cells
from shoal.domain import Bounds, Domain
from shoal.errors import MostlyNoise, ReplayMismatch
from shoal.mechanisms import SeededEntropy
from shoal.queries import LiveCurator
from shoal.sources import MemorySource, Table

# A false alarm at this confidence would not be chance.
SURE = 1 - 1e-6
BY_THE_MEAN = "cells by the mean, behind the gate"


def told_apart(which, epsilon, honest, runs=2000):
    """Audit one of the black boxes."""
    make, name = BLACK_BOX[which]
    pair = canary(name, epsilon)
    return audit(make(epsilon, honest), pair.D, pair.D_prime, epsilon, runs=runs, confidence=SURE, seed=1)


def findings(runs=2000, draws=5000, epsilons=(0.5, 1.0, 3.0), entropy=None):
    """Audit every control and its twin, and give what was found."""
    for what, (_, name) in BLACK_BOX.items():
        for epsilon in epsilons:
            found = [told_apart(what, epsilon, honest, runs) for honest in (False, True)]
            seen = [(x.passed, str(x), x.epsilon_lower, epsilon) for x in found]
            yield from both(what, epsilon, "black box", f"{name}, {runs:,} runs", *seen)
    for what, (law, sampler, change) in LAWS.items():
        found = [
            audit_law(law, drawn, change=change, draws=draws, entropy=entropy) for drawn in (sampler, None)
        ]
        yield from both(what, 1.0, "law", f"{draws:,} draws", *map(of_law, found))
    honest = audit_filter(Fraction(1), 2, draws=draws, entropy=entropy)
    for what, sampler in FILTERS.items():
        found = audit_filter(Fraction(1), 2, sampler, draws=draws, entropy=entropy), honest
        yield from both(what, 1.0, "law", f"{draws:,} draws", *map(of_law, found))
    yield from both(BY_THE_MEAN, 1.0, "exact", "corner", *losses_on(canary("corner")))
    yield from both(BY_THE_MEAN, 1.0, "replay", "rows one by one", *replayed())
    clean = audit_model_contents(DPLloyd(2, epsilon=5.0, bounds=(-1, 1)), seed=0)
    for what, model in CONTENTS.items():
        found = audit_model_contents(model(2, epsilon=5.0, bounds=(-1, 1)), seed=0), clean
        seen = [(x.passed, str(x)) for x in found]
        yield from both(what, 5.0, "contents", "pickle, texts, certificate", *seen)


def both(what, epsilon, audit, case, control, twin):
    """Make the findings of a control and of its twin."""
    for role, label, seen in (("control", case, control), ("twin", f"{case}, without the mistake", twin)):
        passed, detail, *numbers = seen
        yield Finding(what, epsilon, audit, label, passed, detail, *numbers, role=role)


def of_law(found):
    how = "fits its law" if found.passed else f"does not fit: {found.worst.name}"
    return found.passed, how, found.measured, found.charged


def losses_on(pair):
    """Return the exact loss of cells by the mean, and of Lloyd's."""
    lloyd = DPLloyd(1, epsilon=1.0, bounds=(-1, 1), random_state=0).fit(pair.D).release_.transcript
    for transcript in (ask_by_the_mean(pair.D), lloyd):
        found = pair_loss(transcript, pair.D, pair.D_prime)
        yield found.passed, str(found), found.true, found.charged


def replayed():
    """Return whether rows asked one by one say the same as all together."""
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    try:
        check_cells(ask_by_the_mean(rows), rows)
        yield True, "a row's cell is its own"
    except ReplayMismatch as error:
        yield False, str(error)
    found = audit_replay(DPLloyd(2, epsilon=1.0, bounds=(-1, 1)), rows)
    yield found.passed, str(found)


def ask_by_the_mean(rows):
    """Return the transcript of an algorithm whose cells depend on other rows."""
    table = Table(rows.copy())
    domain = Domain(Bounds.parse((-1, 1), table.n_columns, table.names), names=table.names)
    allowance = Accountant(epsilon=1.0).reserve(budget_of(1.0, 0.0), "control")
    curator = LiveCurator(MemorySource(table, domain, threads=1), domain, allowance, SeededEntropy(0))
    MeanSidesLloyd().run(curator)
    return curator.transcript


def main():
    """Print what was found, and keep it for the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, help="the file of `shoal audit --results` to add it to")
    kept = Kept(parser.parse_args().results, 0, SURE)
    kept.forget({finding.algorithm for finding in kept.controls()})
    warnings.simplefilter("ignore", MostlyNoise)
    for finding in findings():
        kept.add(finding)
        print(f"{finding.role}: {finding.algorithm}, {finding.audit}: {finding.verdict}", flush=True)


if __name__ == "__main__":
    main()
