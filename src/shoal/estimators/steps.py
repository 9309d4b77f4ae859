"""What the private steps of a pipeline share: what they keep of a fit, and reading rows to transform."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

import numpy as np

from shoal._typing import Array
from shoal.accounting import Accountant
from shoal.algorithms import PIPELINE_STEPS
from shoal.domain.domain import Neighbours
from shoal.domain.schema import NUMBER
from shoal.errors import InvalidInput, MostlyNoise
from shoal.estimators.docstrings import SharesParameters
from shoal.estimators.face import OneToOneFeatureMixin, TransformerMixin, check_is_fitted, columns_seen
from shoal.estimators.fitting import PrivateFit
from shoal.queries import Transcript
from shoal.release import StepRelease
from shoal.sources import FileTable, OpenTable, Table, open_table
from shoal.sources.engines.source import EngineTable


class PeopleOutMixin:
    """Adds the column of people to the names that scikit-learn's mixin on its right gives to columns."""

    unit: str | None

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that come out; that of people, where there is one, is the last.

        Parameters
        ----------
        input_features : array-like of str, optional
            As for scikit-learn's transformers.
        """
        names = super().get_feature_names_out(input_features)  # type: ignore[misc]
        return names if self.unit is None else np.append(names, self.unit)


class ColumnsOutMixin(OneToOneFeatureMixin):  # type: ignore[misc]
    """A column out for each column in, or for each level of a category."""

    levels: Any
    release_: StepRelease

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that come out.

        Parameters
        ----------
        input_features : array-like of str, optional
            As for scikit-learn's transformers.
        """
        names = super().get_feature_names_out(input_features)
        return np.array(self.release_.names, dtype=object) if self.levels else names


class StepCommon(TypedDict, total=False):
    """What may be given to any step besides its own parameters; see :class:`StepParameters`."""

    delta: float
    neighbours: Neighbours
    unit: str | None
    max_rows: int
    budget: Accountant | None
    levels: Mapping[str, Sequence[str | int]] | None
    max_weight: float | None
    random_state: Any


class StepParameters(SharesParameters, gives=True):
    """Parameters that all private steps share.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed for what is learnt. No default: it is yours to decide.
    delta : float
        0 for pure differential privacy.
    neighbours : {"add-remove", "replace"}
        Whom the guarantee protects.
    unit : str, optional
        The column that names the person. Nothing is learnt from it, the guarantee protects a person with all
        their rows, and `transform` returns a data frame that still has it, for the next step.
    max_rows : int
        The most rows of a person that are looked at; everything is charged for that many.
    budget : Accountant, optional
        Shared with the other steps.
    levels : mapping of column name to list of str or int, optional
        The public levels of category columns. Each becomes a column of 0 and 1, called ``column=level``;
        another cell is a missing one.
    max_weight : float, optional
        The public maximum of `sample_weight` in `fit`.
    random_state : int, optional
        For tests only: seeded noise is not private.
    """

    _LEAVES = """
        release_ : StepRelease
            What may be published: what was learnt, with certificate and transcript; it saves.
        certificate_ : Certificate
            What is guaranteed, to whom, and what was spent on what.
        transcript_ : Transcript
            Every question and noisy answer; what was learnt follows from it.
        n_features_in_ : int
            Columns of the table.
        feature_names_in_ : ndarray of str
            Their names, where the table has some.
        """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        max_rows: int = 1,
        budget: Accountant | None = None,
        levels: Mapping[str, Sequence[str | int]] | None = None,
        max_weight: float | None = None,
        random_state: Any = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise TypeError(self._no_such(next(iter(unknown))))
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows = max_rows
        self.budget = budget
        self.levels = levels
        self.max_weight = max_weight
        self.random_state = random_state


class PrivateStep(StepParameters, TransformerMixin, PrivateFit):  # type: ignore[misc]
    """Base class of private transformers: what they learn is released, what they return is your rows."""

    _registry = PIPELINE_STEPS

    def _open(self, X: Any, sample_weight: Any) -> OpenTable:
        # Before anything is spent: these could be learnt from, and then not be handed on to the next step.
        if isinstance(sample_weight, str):
            raise InvalidInput(
                f"sample_weight is the column {sample_weight!r}; give a step the weights as an array"
            )
        if self.unit is not None and isinstance(X, str | PathLike | FileTable):
            raise InvalidInput(
                "a file cannot go with unit in a step: what it returns has the column of people beside its "
                "own, in a data frame like the one given; read the file into one"
            )
        return super()._open(X, sample_weight)

    def _keep(self, found: Any, transcript: Transcript) -> None:
        self.release_ = StepRelease(found, self.certificate_, transcript)
        self.transcript_ = transcript
        self._take(found)
        if said := self._warning(found):
            warnings.warn(said, MostlyNoise, stacklevel=3)

    @abstractmethod
    def _take(self, found: Any) -> None:
        """Make the fitted attributes of what was learnt; nothing else goes into them."""

    def _warning(self, found: Any) -> str | None:  # noqa: ARG002 - for those that can tell
        """Say what gives reason to doubt what was learnt."""
        return None

    def transform(self, X: Any) -> Any:
        """Map every row by itself to [-1, 1]. What comes out is your rows: it is not for release.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns), path or FileTable
            Rows of the same columns as in `fit`, and the column of people where there is one.

        Returns
        -------
        ndarray or data frame
            Of a table of Dask or Spark, one of theirs. With `unit`, a data frame in which the column of
            people stands beside the others, for the next step.
        """
        check_is_fitted(self)
        declared = dict.fromkeys(getattr(self, "feature_names_in_", ()), NUMBER)
        table = open_table(X, levels=self.levels, bounds=declared, unit=self.unit)
        columns_seen(self, table, first=False)
        if isinstance(table, EngineTable):  # mapped where the rows are, when they are asked for
            return table.transformed(self, self.get_feature_names_out())
        without = table.without_people()
        rows = [np.column_stack(without.read(part).columns) for part in without.parts(2**16)]
        found = self._map(np.concatenate(rows).astype(np.float64))
        if self.unit is None:
            return found
        if not isinstance(table, Table):
            raise InvalidInput("with unit a step returns a data frame: read the file into one")
        return table.with_people(found, self.get_feature_names_out()[:-1])

    def _map(self, rows: Array) -> Array:
        """Map rows, each by itself; missing cells are NaN."""
        raise NotImplementedError

    def _clipped(self, rows: Array, lower: Array, upper: Array) -> Array:
        """Clip to a box and scale it to [-1, 1]; a constant column becomes 0."""
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        with np.errstate(all="ignore"):  # a warning about a cell would tell of it
            # Clipped before it is divided, as a huge cell would overflow; then again, as division rounds.
            scaled = (np.clip(rows, lower, upper) - middle) / np.where(half > 0, half, 1.0)
            return np.clip(scaled, -1.0, 1.0)
