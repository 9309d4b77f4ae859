"""Renewal: a budget for every year, quarter or month, where somebody has decided so.

A new window is a new budget, not a new guarantee: losses of all windows add up for everybody who is in the
table in all of them, and a certificate says their sum.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from shoal.errors import InvalidBudget

Renewal: TypeAlias = Literal["yearly", "quarterly", "monthly"]
RENEWALS: tuple[str, ...] = get_args(Renewal)


def check_renewal(renewal: str | None, decided_by: str | None) -> None:
    """Refuse a renewal that is none, or that nobody has decided."""
    if renewal is None:
        if decided_by is not None:
            raise InvalidBudget("decided_by is for a budget that renews: say how often, with renewal=")
        return
    if renewal not in RENEWALS:
        raise InvalidBudget(f"renewal is {renewal!r}; it must be one of {', '.join(map(repr, RENEWALS))}")
    if not decided_by:
        raise InvalidBudget(
            f"a budget that renews {renewal} promises less every time: say who has decided it, with "
            "decided_by='...'. Certificates name them, and the sum over all windows"
        )


def window_of(renewal: str | None, time: str) -> str:
    """Return the window that a time is in; "" where there is one for all times.

    Parameters
    ----------
    renewal : {"yearly", "quarterly", "monthly"} or None
        How often the budget renews.
    time : str
        In UTC, as records have it. Those never go back, and so windows do not either.

    Examples
    --------
    >>> [window_of(renewal, "2026-08-01T00:00:00Z") for renewal in (None, "yearly", "quarterly", "monthly")]
    ['', '2026', '2026-Q3', '2026-08']
    """
    if renewal is None:
        return ""
    year, month = time[:4], int(time[5:7])
    return {"yearly": year, "quarterly": f"{year}-Q{(month + 2) // 3}", "monthly": time[:7]}[renewal]
