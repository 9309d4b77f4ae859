"""The certificate of a release: what is guaranteed, to whom, and what was spent on what."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any

from shoal.accounting import Approx, Budget, Charge, Pure, epsilon_of
from shoal.algorithms import Registered, Status
from shoal.domain import Domain, Unit
from shoal.queries import Transcript

_PACKAGES = ("shoal", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Certificate:
    """What a privacy engineer signs.

    Parameters
    ----------
    algorithm, paper, status, condition : str
        Which algorithm, where it comes from, and what is known of its privacy.
    guarantee : dict of str to str
        The guarantee under each neighbour relation, in words.
    private : bool
        False when the noise was seeded or the algorithm is unproven: then there is no guarantee.
    unit : str
        Who is protected.
    budget, spent : str
        What was allowed and what was charged.
    charges : tuple of Charge
        Every charge.
    bounds : dict
        The public bounds, and where they came from.
    rows : str
        Whether the number of rows was public, paid for or not used.
    entropy : str
        Where the randomness came from.
    composition : str
        Whether this fit shares a budget with others.
    versions : dict of str to str
        Software.
    transcript : str
        SHA-256 of all questions and answers.
    """

    algorithm: str
    paper: str
    status: str
    condition: str
    guarantee: dict[str, str]
    private: bool
    unit: str
    budget: str
    spent: str
    charges: tuple[Charge, ...]
    bounds: dict[str, Any]
    rows: str
    entropy: str
    composition: str
    versions: dict[str, str]
    transcript: str

    @classmethod
    def issue(
        cls, row: Registered, transcript: Transcript, domain: Domain, *, private_entropy: bool, shared: bool
    ) -> Certificate:
        """Write the certificate of a finished run, from its transcript."""
        private = private_entropy and row.status is not Status.CLAIMED_ONLY
        charges = transcript.charges
        spent = sum((c.amount for c in charges), Fraction(0))
        return cls(
            algorithm=row.name,
            paper=row.paper,
            status=row.status.value,
            condition=row.condition,
            guarantee=_guarantee(transcript.budget, domain.unit) if private else _NONE,
            private=private,
            unit=domain.unit.describe(),
            budget=transcript.budget.describe(),
            spent=f"{float(spent):.6g} of {float(transcript.budget.amount):.6g} {transcript.budget.currency}",
            charges=charges,
            bounds=_bounds(domain),
            rows=_rows(transcript),
            entropy=transcript.entropy,
            composition=(
                "draws on a shared accountant: losses of all its fits add up to no more than its budget"
                if shared
                else "stands alone: another fit on the same table adds to this loss"
            ),
            versions=dict(_versions()),
            transcript=transcript.digest(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        plain = asdict(self)
        plain["charges"] = [{**asdict(charge), "amount": str(charge.amount)} for charge in self.charges]
        return plain

    def __str__(self) -> str:
        lines = [
            f"algorithm    {self.algorithm} ({self.paper})",
            f"status       {self.status}: {self.condition}",
            *(f"guarantee    {text} ({relation})" for relation, text in self.guarantee.items()),
            f"protects     {self.unit}",
            f"budget       {self.budget}; spent {self.spent}",
            *(f"  charge     {charge.describe()}" for charge in self.charges),
            f"bounds       {self.bounds['source']}",
            f"rows         {self.rows}",
            f"randomness   {self.entropy}",
            f"composition  {self.composition}",
            f"transcript   sha256 {self.transcript}",
        ]
        return "\n".join(lines)


_NONE = {"any": "not private: no guarantee"}


@cache
def _versions() -> dict[str, str]:
    # Reading the packages' metadata takes longer than a small fit, and it does not change.
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _guarantee(budget: Budget, unit: Unit) -> dict[str, str]:
    # Replacing a row is a removal and an addition, so its guarantee follows; the other way round it does not.
    here = budget.describe()
    if unit.replace:
        return {"replace": here, "add-remove": "does not follow from a replace guarantee"}
    if isinstance(budget, Pure):
        replace = Pure(2 * budget.epsilon).describe()
    elif isinstance(budget, Approx):
        epsilon = epsilon_of(4 * float(budget.amount), float(budget.delta))
        replace = f"epsilon = {epsilon:.4g}, delta = {float(budget.delta):g}"
    else:
        replace = f"rho = {4 * float(budget.rho):g} (zCDP)"
    return {"add-remove": here, "replace": replace}


def _bounds(domain: Domain) -> dict[str, Any]:
    names = domain.names or tuple(str(i) for i in range(domain.n_columns))
    columns = {
        name: [low, high]
        for name, low, high in zip(names, domain.bounds.lower, domain.bounds.upper, strict=True)
    }
    return {"source": domain.bounds.source, "columns": columns}


def _rows(transcript: Transcript) -> str:
    if transcript.n_rows is not None:
        return f"public: {transcript.n_rows}, vouched for by the user"
    return "never read exactly; every count was paid for"
