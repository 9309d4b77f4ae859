"""What the audits found, as one table."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from shoal.algorithms import REGISTRY, Status
from shoal.audit.distinguish import epsilon_resolved
from shoal.reporting.facts import commit, machine, versions


@dataclass(frozen=True)
class Finding:
    """One line of a report.

    Parameters
    ----------
    algorithm : str
        Whom it is about.
    epsilon : float
        At which budget.
    audit : {"black box", "exact", "law", "replay", "contents"}
        Which audit.
    case : str
        The canary, or what else was tried.
    passed : bool
        Whether no leak was found.
    detail : str
        What was found, in words.
    measured, claimed : float, optional
        For the black box a lower bound on epsilon; for others the computed or estimated loss.
    currency : {"epsilon", "rho"}
        What both are counted in.
    seconds : float
        How long it took.
    role : {"", "control", "twin"}
        A control is a mechanism that is known to leak: that it is caught shows that the audit works. Its
        twin is the same without the mistake.

    Examples
    --------
    >>> Finding("lloyd", 1.0, "black box", "alone", True, "...", 0.41, 1.0).verdict
    'not detected: lower bound 0.41, claimed 1'
    """

    algorithm: str
    epsilon: float
    audit: str
    case: str
    passed: bool
    detail: str
    measured: float | None = None
    claimed: float | None = None
    currency: str = "epsilon"
    seconds: float = 0.0
    role: Literal["", "control", "twin"] = ""

    @property
    def as_it_should(self) -> bool:
        """Whether a control was caught; of anything else that promises privacy, whether it was not."""
        if claims_only(self.algorithm):
            return True
        return self.passed != (self.role == "control")

    @property
    def verdict(self) -> str:
        """One line with the measured and the claimed loss."""
        word = "not detected" if self.passed else "leaks"
        if self.measured is None or self.claimed is None:
            return f"{word}: {self.detail}"
        what = "lower bound" if self.audit == "black box" else f"measured {self.currency}"
        return f"{word}: {what} {self.measured:.2f}, claimed {self.claimed:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: a loss without end is the text ``inf``.

        Examples
        --------
        >>> endless = Finding("a", 1.0, "exact", "corner", False, "...", math.inf, 1.0)
        >>> endless.to_dict()["measured"], Finding.from_dict(endless.to_dict()) == endless
        ('inf', True)
        """
        endless = self.measured is not None and not math.isfinite(self.measured)
        return {**asdict(self), **({"measured": str(self.measured)} if endless else {})}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Finding:
        """Return the finding that `to_dict` was called on; what else there is, is passed over."""
        mine = {field.name: values[field.name] for field in fields(cls)}
        measured = mine["measured"]
        return cls(**{**mine, "measured": None if measured is None else float(measured)})


def facts() -> dict[str, str]:
    """Return the date, the machine and the versions."""
    known = {"date": datetime.date.today().isoformat(), "machine": machine(), **versions()}
    return {**known, "commit": commit()} if commit() else known


@dataclass(frozen=True)
class Report:
    """Findings, with what is needed to judge them.

    Parameters
    ----------
    findings : tuple of Finding
        One a case, and those of controls.
    runs : int
        Runs on each table of a black-box case; half chose the event, half tested it.
    confidence : float
        With which every lower bound holds by itself.
    facts : dict of str to str
        Date, machine and versions.
    """

    findings: tuple[Finding, ...]
    runs: int
    confidence: float
    facts: dict[str, str] = field(default_factory=facts)

    @property
    def passed(self) -> bool:
        """Whether nothing that promises privacy was caught, and every control was."""
        return all(f.as_it_should for f in self.findings)

    @property
    def subjects(self) -> tuple[Finding, ...]:
        """The findings without those of controls."""
        return tuple(f for f in self.findings if not f.role)

    @property
    def controls(self) -> tuple[Finding, ...]:
        """The findings of controls and their twins."""
        return tuple(f for f in self.findings if f.role)

    @property
    def epsilon_lower(self) -> float:
        """The largest lower bound of all black-box cases."""
        return max((f.measured or 0.0 for f in self.subjects if f.audit == "black box"), default=0.0)

    @property
    def power(self) -> float:
        """The largest epsilon that the black box could have shown: that of tables told apart always."""
        return epsilon_resolved(self.runs, self.confidence)

    @property
    def seconds_per_run(self) -> float:
        """Wall time of a black-box run, over all processes."""
        cases = [f.seconds for f in self.subjects if f.audit == "black box"]
        return sum(cases) / max(1, 2 * self.runs * len(cases))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        findings = [{**f.to_dict(), "verdict": f.verdict} for f in self.findings]
        return {"passed": self.passed, "power": self.power, **asdict(self), "findings": findings}


def claims_only(name: str) -> bool:
    """Say whether an algorithm is there as published, without a proof: it may leak."""
    return name in REGISTRY and REGISTRY[name].status is Status.CLAIMED_ONLY
