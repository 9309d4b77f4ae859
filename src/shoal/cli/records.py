"""Releases as plain records, for machines (`--json`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InvalidInput


def record(release: Any, *, total: bool = False) -> dict[str, Any]:
    """Return groups with errors and intervals, a synopsis, points of a coreset, or what a step learnt.

    Parameters
    ----------
    release : AnyRelease
        What was released.
    total : bool
        Whether to state total intervals of groups too.
    """
    from shoal.release import CoresetRelease, StepRelease, SynopsisRelease, ZonedRelease

    about = {"algorithm": release.certificate.algorithm}
    if isinstance(release, CoresetRelease):
        points = groups_of(release.names, release.points, release.weights)
        return {**about, "points": points, "guarantee": release.guarantee}
    about["guarantee"] = release.certificate.guarantee
    if isinstance(release, SynopsisRelease):
        held = release.synopsis
        facts = {"columns": list(release.names), **held.facts(), "held": held.n_held}
        return {**about, "synopsis": {**facts, "sd": held.sd, "rows": held.rows}}
    if isinstance(release, StepRelease):
        values = {name: value.tolist() for name, value in release.values.items()}
        return {**about, "step": {"columns": list(release.names), **values}}
    if isinstance(release, ZonedRelease):
        about["zones"] = release.certificate.zones
    said = {"errors": release.certificate.errors, "doubts": [doubt.text for doubt in release.doubts]}
    groups = _groups(release)
    if total:
        known = release.intervals(total=True)
        groups = [{**group, **_total(release.names, known, i)} for i, group in enumerate(groups)]
        said["totals"] = {"known": known.known, "refits": known.refits, "note": known.describe()}
    return {**about, "groups": groups, "level": release.intervals.level, **said}


def _total(names: Sequence[str], known: Any, i: int) -> dict[str, Any]:
    """Return what another fit would give for a group; null where it is not known."""
    return {
        "centre_total_sd": named(names, known.centre_sd[i]),
        "centre_total_low": named(names, known.centre_low[i]),
        "centre_total_high": named(names, known.centre_high[i]),
        "size_total_sd": number(known.size_sd[i]),
        "size_total_low": number(known.size_low[i]),
        "size_total_high": number(known.size_high[i]),
        "stable": bool(known.stable[i]) if known.known else None,
        "changed": number(known.changed[i]),
    }


def load_groups(folder: Path) -> Any:
    """Read a release that has groups, or that they can be found on."""
    from shoal.release import StepRelease, load

    found = load(folder)
    if isinstance(found, StepRelease):
        raise InvalidInput(f"{folder} holds what a step of a pipeline learnt, and no groups")
    return found


def groups_of(names: Sequence[str], centres: Any, sizes: Any) -> list[dict[str, Any]]:
    """Return centres and sizes as plain records."""
    return [
        {"centre": named(names, centre), "size": float(size)}
        for centre, size in zip(centres, sizes, strict=True)
    ]


def named(names: Sequence[str], values: Any) -> dict[str, float | None]:
    """Return values by the names of columns; what is not known is null.

    Examples
    --------
    >>> named(["x", "y"], [1.5, math.inf])
    {'x': 1.5, 'y': None}
    """
    return {name: number(value) for name, value in zip(names, values, strict=True)}


def number(value: Any) -> float | None:
    """Return a finite number, or None."""
    return float(value) if math.isfinite(value) else None


def _groups(release: Any) -> list[dict[str, Any]]:
    """Return groups with the noise of the last answer: standard errors, and the ends of intervals."""
    names, ends, zones = release.names, release.intervals, getattr(release, "zone", None)
    return [
        {
            **group,
            "centre_noise_sd": named(names, release.centre_sd[i]),
            "centre_noise_low": named(names, ends.centre_low[i]),
            "centre_noise_high": named(names, ends.centre_high[i]),
            "size_noise_sd": number(release.size_sds[i]),
            "size_noise_low": number(ends.size_low[i]),
            "size_noise_high": number(ends.size_high[i]),
            "merged_into": int(release.merged_into[i]),
            **({} if zones is None else {"zone": zones[i]}),
        }
        for i, group in enumerate(groups_of(names, release.centres, release.sizes))
    ]
