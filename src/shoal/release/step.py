"""What a step of a pipeline learnt, released: bounds, means and spreads, or principal directions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from shoal._typing import Array
from shoal.algorithms import PIPELINE_STEPS, PROFILES
from shoal.algorithms.column_stats import Learnt
from shoal.domain import Domain
from shoal.queries import Transcript
from shoal.queries.gate.codec import plain
from shoal.release.certificate import Certificate, column_names
from shoal.release.files import STEP
from shoal.release.folder import write_folder
from shoal.release.formats import read_release
from shoal.release.rerun import files_of, read_again

_NOTE = (
    "What a step of a pipeline learnt of a table, with noise, in the table's own units. mean_noise_sd is the "
    "predicted noise of each mean. release.npz holds the same numbers."
)


@dataclass(frozen=True, eq=False, repr=False)
class StepRelease:
    """What a private step learnt of a table, and may be published.

    Parameters
    ----------
    learnt : Learnt
        Bounds, means and spreads, or principal directions; `values` has them in the table's own units.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import PrivateScaler
    >>> X = np.random.default_rng(0).normal(5, 1, (10_000, 2))
    >>> release = PrivateScaler(epsilon=1.0, bounds=(0, 10)).fit(X).release_
    >>> release
    <StepRelease of means and spreads of 2 columns: x0, x1, epsilon = 1>
    >>> release.values["mean"].round(0), release.values["scale"].round(0)
    (array([5., 5.]), array([1., 1.]))
    """

    learnt: Learnt
    certificate: Certificate
    transcript: Transcript

    @property
    def domain(self) -> Domain:
        """Column names, bounds, scaling, missing cells and unit of the table."""
        return self.learnt.domain

    @property
    def names(self) -> tuple[str, ...]:
        """Column names; x0, x1, ... where the table has none."""
        return column_names(self.domain)

    @property
    def values(self) -> dict[str, Array]:
        """What was learnt, by name, in the table's own units."""
        return self.learnt.values

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write what was learnt into a new folder, whole or not at all; :func:`shoal.verify` checks it.

        Parameters
        ----------
        folder : path
            It must not exist yet.
        """
        write_folder(folder, step_files(self))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> StepRelease:
        """Read what was saved, or raise `InvalidRelease` where a file is missing or changed.

        Parameters
        ----------
        folder : path
            Where it was saved.
        """
        return step_from_files(read_release(folder))

    def __repr__(self) -> str:
        columns = ", ".join(self.names[:4]) + (", ..." if len(self.names) > 4 else "")
        return f"<StepRelease of {self.learnt.describe()}: {columns}, {self.transcript.budget.describe()}>"


def step_files(release: StepRelease) -> dict[str, bytes]:
    """Return the content of every file of a step, by name."""
    summary = {
        "note": _NOTE,
        "kind": release.certificate.algorithm,
        "columns": list(release.names),
        **{name: value.tolist() for name, value in release.values.items()},
        "schema": plain(release.domain),
    }
    return files_of(STEP, summary, release.values, release.certificate, release.transcript)


def step_from_files(files: Mapping[str, bytes]) -> StepRelease:
    """Read what a step learnt from its transcript, by running it again; the other files are copies."""
    return StepRelease(*read_again(STEP, files, {**PIPELINE_STEPS, **PROFILES}))
