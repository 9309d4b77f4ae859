"""A release as pages show it: plain numbers and words, all of them released."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.accounting import budget_of
from shoal.release.intervals import Intervals
from shoal.release.release import Release
from shoal.studio.workshop.levels import risk_sentence
from shoal.studio.workshop.values import MOST_POINTS

if TYPE_CHECKING:
    from shoal.studio.workshop.releases import ReleaseRecord

_NOISE = "the noise of the last answer, for this grouping (95 %): another fit may differ by more"
# What neighbours are, as a certificate names them, for people.
_RELATIONS = {
    "add-remove": "If somebody is added or removed",
    "replace": "If somebody is exchanged for another",
    "between zones": "If a row moves between zones",
}
_TOTAL = "how far another fit of the same table would be (95 %): noise and grouping both counted"


def errors_of(release: Release) -> tuple[list[list[float | None]], list[float | None], str]:
    """Return how far centres and sizes may be off: total errors where they are known, else the noise alone.

    Parameters
    ----------
    release : Release
        What was released.
    """
    total = release.totals  # computed when it was released
    known: Intervals = release.intervals if total is None or not total.known else total
    said = _NOISE if known is release.intervals else _TOTAL
    centres = (known.centre_high - known.centre_low) / 2
    sizes = (known.size_high - known.size_low) / 2
    return [[_number(v) for v in row] for row in centres], [_number(v) for v in sizes], said


def page_of(record: ReleaseRecord) -> dict[str, Any]:
    """Return all that a page shows of a release.

    Parameters
    ----------
    record : ReleaseRecord
        Which.
    """
    release = record.release
    bounds = release.domain.bounds
    centre_errors, size_errors, said = errors_of(release)
    points, weights = _points(record)
    told = release.told(total=True) if release.totals is not None else release.told()
    zones = getattr(release, "zones", None)
    lines = [line for line in str(release.certificate).splitlines() if line[:1].strip()]
    return {
        **record.to_dict(),
        "bounds": {
            name: [float(low), float(high)]
            for name, low, high in zip(release.names, bounds.lower, bounds.upper, strict=True)
        },
        "centres": release.centres.tolist(),
        "sizes": [max(float(size), 0.0) for size in release.sizes],
        "centre_errors": centre_errors,
        "size_errors": size_errors,
        "errors_are": said,
        "points": points,
        "weights": weights,
        "table": {"header": told.header, "lines": told.lines},
        "doubts": [doubt.text for doubt in release.doubts],
        "certificate": [[name, text.strip()] for name, _, text in (line.partition(" ") for line in lines)],
        "promised": promised(record),
        "notes": list(release.certificate.ledger.get("notes", ())),
        "zones": None if zones is None or zones.by_column else zones.to_geojson(),
        "zone": list(getattr(release, "zone", ())),
        "demo": bool(record.demo),
        "risk": risk_sentence(record.spent, record.delta),
        "risk_alone": risk_sentence(record.level.epsilon, record.own_delta),
    }


def promised(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return what is promised, to whom, and what all releases amount to, as names and words.

    Parameters
    ----------
    record : ReleaseRecord
        Which release.
    """
    release, epsilon = record.release, record.level.epsilon
    certificate = release.certificate
    found = [("Who is protected", certificate.unit)]
    found += [
        (_RELATIONS.get(name, name), said)
        for name, said in certificate.guarantee.items()
        if "coreset" not in record.fits
    ]
    if "coreset" in record.fits:
        found.append(
            (
                "This release",
                f"{budget_of(epsilon, record.own_delta).describe()}, half of it for the centres and half for "
                "the coreset",
            )
        )
    zones = getattr(release, "zones", None)
    if zones is not None:
        levels = zones.epsilons(epsilon)
        found.append(
            ("A row that stays in", "; ".join(f"{name}: epsilon = {e:g}" for name, e in levels.items()))
        )
    found.append(("With all before it", f"epsilon {record.spent:.3g} of {record.total} in all"))
    found.append(("What that means", risk_sentence(record.spent, record.delta)))
    found += [("Noted", said) for said in certificate.ledger.get("notes", ())]
    return found


def _points(record: ReleaseRecord) -> tuple[list[Any], list[float]]:
    """Return weighted points that were released: of the coreset, or else of the look."""
    coreset = record.coreset
    if coreset is not None:
        at, weights = coreset.points, coreset.weights
    elif (look := record.synopsis) is not None:
        held = look.synopsis
        at, weights = look.domain.decode(held.places()), held.weights
    else:
        return [], []
    heaviest = np.argsort(-weights, kind="stable")[:MOST_POINTS]
    heaviest = heaviest[weights[heaviest] > 0]
    return at[heaviest].tolist(), [float(weight) for weight in weights[heaviest]]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
