"""The certificate of a release: what is guaranteed, to whom, and what was spent on what."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from shoal.accounting import Approx, Budget, Charge, NoGuarantee, Pure, epsilon_of
from shoal.algorithms import Algorithm, AlgorithmInfo, Status, clipped_shares
from shoal.domain import Domain, Unit
from shoal.domain.wording import how_measured
from shoal.queries import Transcript
from shoal.queries.gate.codec import TAG, from_plain, plain

_PACKAGES = ("shoal", "numpy", "scipy", "scikit-learn", "numba")
# Columns named in the text; all are in the JSON.
_SHOWN = 20

SHARED = "draws on a shared accountant: losses of all its fits add up to no more than its budget"
IN_LEDGER = "draws on data set {dataset!r} of a ledger, of which all fits together keep to {total}"
ALONE = "stands alone: another fit on the same table adds to this loss"

AS_GIVEN = (
    "the rows as they were given. For a table that they were made from it holds only if each was made from "
    "its own row alone: not after a step that looked at all rows, unless that was private and is counted in"
)
NOISE_ALONE = (
    "what is stated beside centres and sizes is the noise of the last answer, for this grouping: another fit "
    "may group rows otherwise, and differ by more"
)

UNPROMISED = "no guarantee: after this release no other can promise anything for the same rows"


@dataclass(frozen=True)
class Certificate:
    """What a privacy engineer signs.

    Parameters
    ----------
    algorithm, paper, status, condition : str
        Which algorithm, where it comes from, and what is known of its privacy.
    parameters : dict
        The algorithm with its public parameters, enough to run it again.
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
    measured : tuple of str
        Where missing cells went, what distance is, which columns count more, and which are encoded otherwise.
    covers : str
        Which rows it holds for: those that were given, and not what they were made from.
    errors : str
        Of groups, what the stated errors are errors of.
    doubts : tuple of str
        What the released groups themselves give reason to doubt.
    clipped : dict of str to dict
        Of each column, if that was paid for: the shares of cells that were missing, below and above the
        bounds, and the standard deviation of their noise.
    rows : str
        Whether the number of rows was public, paid for or not used.
    entropy : str
        Where the randomness came from.
    composition : str
        Whether this fit shares a budget with others.
    notes : tuple of str
        What the algorithm chose from public and released values, and why.
    ledger : dict
        Where the budget lies in a ledger: the data set, the fit, the number and the hash of its last record
        (`record`, `head`), how losses add up, and of a budget that renews, the sum over all windows.
    versions : dict of str to str
        Software.
    transcript : str
        SHA-256 of the public facts and of all questions, answers and charges.
    zones : dict of str to dict
        Of each zone with a level of its own: its epsilon, what that protects, and how many groups it has.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import DPLloyd
    >>> model = DPLloyd(2, epsilon=1.0, bounds=(0, 1)).fit(np.random.default_rng(0).random((1000, 2)))
    >>> model.certificate_.guarantee
    {'add-remove': 'epsilon = 1', 'replace': 'epsilon = 2'}
    >>> Certificate.from_dict(model.certificate_.to_dict()) == model.certificate_
    True
    """

    algorithm: str
    paper: str
    status: str
    condition: str
    parameters: dict[str, Any]
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
    notes: tuple[str, ...] = ()
    covers: str = AS_GIVEN
    errors: str = ""
    doubts: tuple[str, ...] = ()
    clipped: dict[str, dict[str, float]] = field(default_factory=dict)
    ledger: dict[str, Any] = field(default_factory=dict)
    measured: tuple[str, ...] = ()
    zones: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def issue(
        cls,
        info: AlgorithmInfo,
        transcript: Transcript,
        domain: Domain,
        *,
        algorithm: Algorithm,
        private_entropy: bool,
        shared: bool,
        ledger: Mapping[str, Any] | None = None,
    ) -> Certificate:
        """Write the certificate of a finished run, from its transcript.

        Parameters
        ----------
        info : AlgorithmInfo
            What is known of the algorithm.
        transcript : Transcript
            What was asked, answered and charged.
        domain : Domain
            The table as the centres know it, with the bounds as they turned out.
        algorithm : Algorithm
            What was run, with its public parameters.
        private_entropy : bool
            Whether nobody can predict the noise.
        shared : bool
            Whether the fit drew on an accountant shared with others.
        ledger : mapping, optional
            What is said of the ledger that it drew on.
        """
        promised = info.status is not Status.CLAIMED_ONLY and not isinstance(transcript.budget, NoGuarantee)
        private = private_entropy and promised
        charges = transcript.charges
        spent = sum((c.amount for c in charges), Fraction(0))
        return cls(
            algorithm=info.name,
            paper=info.paper,
            status=info.status.value,
            condition=info.condition,
            parameters=plain(algorithm),
            guarantee=guarantee_of(transcript.budget, domain.unit) if private else NO_GUARANTEE,
            private=private,
            unit=domain.unit.describe() if promised else "nobody",
            budget=transcript.budget.describe(),
            spent=spent_of(transcript.budget, spent) if promised else "nothing: there is nothing to spend",
            charges=charges,
            bounds=_bounds(domain),
            rows=_rows(transcript),
            entropy=transcript.entropy,
            composition=_composition(ledger, shared=shared) if promised else UNPROMISED,
            versions=dict(_versions()),
            transcript=transcript.digest(),
            notes=transcript.notes,
            clipped=clipped_shares(transcript, domain),
            ledger=dict(ledger or {}),
            measured=how_measured(domain),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        charges = [{**asdict(charge), "amount": str(charge.amount)} for charge in self.charges]
        lists = {name: list(getattr(self, name)) for name in ("notes", "doubts", "measured")}
        plainly = {**asdict(self), "charges": charges, **lists}
        for name in ("clipped", "ledger", "zones"):  # nobody paid for it, or there is none
            if not plainly[name]:
                del plainly[name]
        return plainly

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Read what :meth:`to_dict` wrote, or say what is wrong with it.

        Parameters
        ----------
        values : mapping
            Plain dictionaries, numbers and strings.
        """
        charges = values.get("charges")
        if isinstance(charges, list):
            charges = [{TAG: "Charge", **c} if isinstance(c, dict) else c for c in charges]
        found: Certificate = from_plain(cls, {TAG: "Certificate", **values, "charges": charges})
        return found

    def __str__(self) -> str:
        lines = [
            f"algorithm    {self.algorithm} ({self.paper})",
            f"parameters   {', '.join(f'{k}={v}' for k, v in self.parameters.items() if k != TAG)}",
            f"status       {self.status}: {self.condition}",
            *(f"chosen       {note}" for note in self.notes),
            *(f"guarantee    {text} ({relation})" for relation, text in self.guarantee.items()),
            f"protects     {self.unit}",
            *(f"  zone       {text}" for text in self.zone_lines()),
            f"covers       {self.covers}",
            f"budget       {self.budget}; spent {self.spent}",
            *(f"  charge     {charge.describe()}" for charge in self.charges),
            f"bounds       {self.bounds['source']}",
            *(f"  column     {text}" for text in self._columns()),
            *(f"measured     {text}" for text in self.measured),
            *(f"clipped      {text}" for text in self.clipped_lines()),
            f"rows         {self.rows}",
            *([f"errors       {self.errors}"] if self.errors else []),
            *(f"doubt        {doubt}" for doubt in self.doubts),
            f"randomness   {self.entropy}",
            f"composition  {self.composition}",
            *(f"  {name:<11}{text}" for name, text in self.ledger_lines()),
            f"software     {', '.join(f'{name} {number}' for name, number in self.versions.items())}",
            f"transcript   sha256 {self.transcript}",
        ]
        return "\n".join(lines)

    def to_html(self, **about: str) -> str:
        """Return one page that a data protection officer can read and file.

        Parameters
        ----------
        **about
            What you say of the release: `title`, `table`, `purpose`, `contact`, `date` (today, if not given)
            and `fingerprint`.
        """
        from shoal.release.html import About, certificate_page

        return certificate_page(self, About(**about))

    def _repr_html_(self) -> str:
        from shoal.release.html import certificate_html

        return certificate_html(self)

    def clipped_lines(self) -> list[str]:
        """Say of each column how many cells were missing or clipped; nothing if that was not paid for."""
        return [
            f"{name}: {100 * of['missing']:.1f} % missing, {100 * of['below']:.1f} % below and "
            f"{100 * of['above']:.1f} % above the bounds, ± {100 * of['noise_sd']:.2g} %"
            for name, of in self.clipped.items()
        ]

    def zone_lines(self) -> list[str]:
        """Say of each zone what it protects; nothing where there are none."""
        return [f"{name}: {of['protects']}" for name, of in self.zones.items()]

    def ledger_lines(self) -> list[tuple[str, str]]:
        """Say what the ledger adds, with a word for each line; nothing where there is none."""
        said = self.ledger
        if not said:
            return []
        lines = [("adds up", said["adds_up"])]
        lines += [(word, said[name]) for word, name in _LEDGER_LINES if name in said]
        lines += [("noted", text) for text in said.get("notes", ())]
        return [*lines, ("ledger", f"fit {said['fit']}; record {said['record']}, sha256 {said['head']}")]

    def _columns(self) -> list[str]:
        columns = [f"{name}: {low:g} to {high:g}" for name, (low, high) in self.bounds["columns"].items()]
        more = len(columns) - _SHOWN
        return columns if more <= 0 else [*columns[:_SHOWN], f"and {more} more"]


_LEDGER_LINES = (("part", "part"), ("window", "window"), ("all", "all_windows"), ("lost", "lost"))

NO_GUARANTEE = {"any": "not private: no guarantee"}


@cache
def _versions() -> dict[str, str]:
    # Reading the packages' metadata takes longer than a small fit, and it does not change.
    return {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # numba need not be there
        return "absent"


def _composition(ledger: Mapping[str, Any] | None, *, shared: bool) -> str:
    if ledger:
        return IN_LEDGER.format(dataset=ledger["dataset"], total=ledger["total"])
    return SHARED if shared else ALONE


def spent_of(budget: Budget, spent: Fraction) -> str:
    """Say what was spent of a budget."""
    return f"{float(spent):.6g} of {float(budget.amount):.6g} {budget.currency}"


def guarantee_of(budget: Budget, unit: Unit) -> dict[str, str]:
    """Say what a budget guarantees under each neighbour relation."""
    if isinstance(budget, NoGuarantee):
        return NO_GUARANTEE
    # Replacing a row is a removal and an addition, so its guarantee follows; the other way round it does not.
    here = budget.describe()
    if unit.replace:
        return {"replace": here, "add-remove": "does not follow from a replace guarantee"}
    if isinstance(budget, Pure):
        replace = Pure(2 * budget.epsilon).describe()
    elif isinstance(budget, Approx):
        # Rounded up: a guarantee must not sound better than it is.
        epsilon = math.ceil(1000 * epsilon_of(4 * float(budget.amount), float(budget.delta))) / 1000
        replace = f"epsilon = {epsilon:g}, delta = {float(budget.delta):g}"
    else:
        replace = f"rho = {4 * float(budget.rho):g} (zCDP)"
    return {"add-remove": here, "replace": replace}


def column_names(domain: Domain) -> tuple[str, ...]:
    """Return the names of the columns, made up where the table has none.

    Examples
    --------
    >>> from shoal.domain import Bounds
    >>> column_names(Domain(Bounds.parse((0, 1), 2)))
    ('x0', 'x1')
    """
    return domain.names or tuple(f"x{i}" for i in range(domain.n_columns))


def _bounds(domain: Domain) -> dict[str, Any]:
    ends = zip(column_names(domain), domain.bounds.lower, domain.bounds.upper, strict=True)
    columns = {name: [float(low), float(high)] for name, low, high in ends}
    return {"source": domain.bounds.source, "columns": columns}


def _rows(transcript: Transcript) -> str:
    if transcript.n_rows is not None:
        return f"public: {transcript.n_rows}, vouched for by the user"
    return "never read exactly; every count was paid for"
