"""Everything Shoal raises or warns of, in one place.

::

    ShoalError
      InvalidInput (ValueError)        a parameter, table or question that cannot be used; it was not charged
        InvalidBudget                  epsilon, delta, rho or a share of them
          InfeasibleEpsilon            too small for the public number of rows; names the least that will do
        InvalidBounds                  missing, reversed, NaN or the wrong number
        InvalidRelease                 files or text that cannot be read as a release
        InvalidTable (also TypeError)  wrong columns or types, as told by the schema, never by the cells
        InvalidLedger                  no such ledger or data set, another version, or records that do not fit
        InvalidFile                    no such file, not what its name says, or its parts do not fit together
        LatticeTooCoarse               an exact sampler was asked for noise its lattice cannot carry
      BudgetExceeded                   the accountant refused: says asked, left and the gap
      LedgerUnavailable                a ledger cannot be read or written now; what was charged counts
      EngineUnavailable                no scheduler, no Java, no workers with this version; nothing was spent
      EngineFailed                     workers failed half way; says what was spent
      DamagedFile                      a file broke off or changed as its rows were read; says what was spent
      ReplayMismatch                   a replayed run asked something the transcript does not hold
      DataUnavailable                  a data set is not at hand nor to be downloaded; says where to put it
      ChecksumMismatch                 a data file is not the one that is known by its name

    ShoalWarning (UserWarning)
      WeakDelta                        delta is not below 1/n_rows
      MostlyNoise                      predicted noise exceeds the signal, computed from public values
        GroupsOfNoise                  released sizes that noise alone would show as well
      SuspectBounds                    released groups look as if bounds, units or columns were mixed up
      ExactScore                       a score is exact: choosing by it is covered by no certificate
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "ChecksumMismatch",
    "DamagedFile",
    "DataUnavailable",
    "EngineFailed",
    "EngineUnavailable",
    "ExactScore",
    "GroupsOfNoise",
    "InfeasibleEpsilon",
    "InvalidBounds",
    "InvalidBudget",
    "InvalidFile",
    "InvalidInput",
    "InvalidLedger",
    "InvalidRelease",
    "InvalidTable",
    "LatticeTooCoarse",
    "LedgerUnavailable",
    "MostlyNoise",
    "ReplayMismatch",
    "ShoalError",
    "ShoalWarning",
    "SuspectBounds",
    "WeakDelta",
]


class ShoalError(Exception):
    """Base class of every error Shoal raises on purpose."""


class InvalidInput(ShoalError, ValueError):
    """A parameter, table or question that cannot be used. It was not charged."""


class InvalidBudget(InvalidInput):
    """An epsilon, delta, rho or share that is not one."""


class InfeasibleEpsilon(InvalidBudget):
    """An epsilon too small for the public number of rows; `least` is the smallest that will do."""

    def __init__(self, message: str, least: float) -> None:
        super().__init__(message, least)
        self.least = least

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidBounds(InvalidInput):
    """Bounds that are missing, reversed, not numbers, or not one pair per column."""


class InvalidRelease(InvalidInput):
    """Files or text that cannot be read as a release: missing, cut short, changed or of another format."""


class InvalidLedger(InvalidInput):
    """A ledger or data set that is not there, is of another version, or whose records do not fit together."""


class InvalidTable(InvalidInput, TypeError):
    """A table whose schema (columns, types, shape) does not fit. Never depends on its cells."""


class InvalidFile(InvalidInput):
    """A file that cannot be opened as a table. Told by names, headers and footers, never by rows."""


class LatticeTooCoarse(InvalidInput):
    """An exact sampler was asked for noise that its integer lattice is too coarse to carry."""


class BudgetExceeded(ShoalError):
    """The accountant refused a charge. Nothing was computed."""


class LedgerUnavailable(ShoalError):
    """A ledger that cannot be read or written now. What was charged counts; the fit can be resumed."""


class EngineUnavailable(ShoalError):
    """An engine that cannot be used: no scheduler, no Java, no workers that have this version."""


class EngineFailed(ShoalError):
    """Workers failed half way. Says what was spent, and nothing of the rows."""


class DamagedFile(ShoalError):
    """A file broke off, or changed, as its rows were read. Says what was spent, and nothing of the rows."""


class ReplayMismatch(ShoalError):
    """A replayed algorithm asked a question that the transcript does not hold."""


class DataUnavailable(ShoalError):
    """A data set that is neither at hand nor to be downloaded. Says where to put which file."""


class ChecksumMismatch(ShoalError):
    """A data file, or what its public source holds, is not the table that is known by its name."""


class ShoalWarning(UserWarning):
    """Base class of Shoal's warnings. All are computed from public or already released values."""


class WeakDelta(ShoalWarning):
    """Delta is at or above one over the public row count."""


class MostlyNoise(ShoalWarning):
    """The predicted noise is larger than what it is meant to measure."""


class GroupsOfNoise(MostlyNoise):
    """Groups whose released size is within 3 standard deviations of 0: there may be no rows in them."""


class SuspectBounds(ShoalWarning):
    """Released groups look as if bounds, units or the order of columns were not those of the table."""


class ExactScore(ShoalWarning):
    """A score is an exact function of rows, so what is chosen by it is covered by no certificate."""
