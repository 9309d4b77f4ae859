"""What the audits found, as one table."""

from __future__ import annotations

import datetime
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from shoal.algorithms import REGISTRY, Status


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

    @property
    def verdict(self) -> str:
        """One line with the measured and the claimed loss."""
        word = "not detected" if self.passed else "leaks"
        if self.measured is None or self.claimed is None:
            return f"{word}: {self.detail}"
        what = "lower bound" if self.audit == "black box" else f"measured {self.currency}"
        return f"{word}: {what} {self.measured:.2f}, claimed {self.claimed:.4g}"


def _facts() -> dict[str, str]:
    return {
        "date": datetime.date.today().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: version(package) for package in ("shoal", "numpy", "scipy", "scikit-learn")},
    }


@dataclass(frozen=True)
class Report:
    """Findings, with what is needed to judge them.

    Parameters
    ----------
    findings : tuple of Finding
        One a case.
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
    facts: dict[str, str] = field(default_factory=_facts)

    @property
    def passed(self) -> bool:
        """Whether nothing that promises privacy was caught."""
        return all(f.passed for f in self.findings if not claims_only(f.algorithm))

    @property
    def epsilon_lower(self) -> float:
        """The largest lower bound of all black-box cases."""
        return max((f.measured or 0.0 for f in self.findings if f.audit == "black box"), default=0.0)

    @property
    def seconds_per_run(self) -> float:
        """Wall time of a black-box run, over all processes."""
        cases = [f.seconds for f in self.findings if f.audit == "black box"]
        return sum(cases) / max(1, 2 * self.runs * len(cases))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        findings = [{**asdict(f), "verdict": f.verdict} for f in self.findings]
        return {"passed": self.passed, **asdict(self), "findings": findings}


def claims_only(name: str) -> bool:
    """Say whether an algorithm is there as published, without a proof: it may leak."""
    return name in REGISTRY and REGISTRY[name].status is Status.CLAIMED_ONLY
