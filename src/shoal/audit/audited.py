"""What can be audited: every algorithm of the registry, and what else is fitted privately."""

from __future__ import annotations

import difflib
from typing import Any

import shoal
from shoal.algorithms import PIPELINE_STEPS, REGISTRY, SYNOPSES
from shoal.errors import InvalidInput

OTHERS = {
    "grid-synopsis": "GridSynopsis",
    "masked-grid-synopsis": "MaskedGridSynopsis",
    "privtree-synopsis": "PrivTreeSynopsis",
    "private-coreset": "PrivateCoreset",
    "scaler": "PrivateScaler",
    "pca": "PrivatePCA",
    "bounds": "PrivateBounds",
}
"""Synopses and steps of pipelines, with their estimators."""

AUDITED = (*REGISTRY, *OTHERS)


def audited(name: str) -> str:
    """Return what an algorithm, a synopsis or a step is called here; its class will do too.

    Examples
    --------
    >>> audited("lloyd"), audited("PrivateScaler"), audited("KMeans")
    ('lloyd', 'scaler', 'auto')
    """
    if name in AUDITED:
        return name
    # Of two rows with one estimator the first is meant: the other is as published.
    by_class = {_class_of(known): known for known in reversed(AUDITED)}
    if name in by_class:
        return by_class[name]
    near = difflib.get_close_matches(name, [*AUDITED, *by_class], n=3) or sorted(AUDITED)
    raise InvalidInput(f"there is no algorithm {name!r}; did you mean {' or '.join(map(repr, near))}?")


def estimator_of(name: str) -> Any:
    """Return the class of an estimator."""
    return getattr(shoal, _class_of(audited(name)))


def status_of(name: str) -> str:
    """Return what is known of the privacy of an algorithm, a synopsis or a step.

    Examples
    --------
    >>> status_of("lloyd"), status_of("grid-synopsis"), status_of("scaler")
    ('proven', 'repaired', 'proven')
    """
    rows = [*REGISTRY.values(), *SYNOPSES.values(), *PIPELINE_STEPS.values()]
    found = [row.status.value for row in rows if name in AUDITED and row.estimator == _class_of(name)]
    return REGISTRY[name].status.value if name in REGISTRY else "".join(found[:1])


def parameters_of(name: str) -> dict[str, Any]:
    """Return what makes an estimator the one that is meant."""
    return dict(REGISTRY[name].parameters) if name in REGISTRY else {}


def _class_of(name: str) -> str:
    return OTHERS[name] if name in OTHERS else REGISTRY[name].estimator
