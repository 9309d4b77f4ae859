"""Every kind of release there is: groups, synopses, coresets and steps, to files and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from shoal.algorithms import PIPELINE_STEPS, PROFILES, REGISTRY, SYNOPSES, AlgorithmInfo
from shoal.release.coreset import CoresetRelease, coreset_files, coreset_from_files
from shoal.release.files import CORESET, STEP, SYNOPSIS, ZONES, from_files, to_files
from shoal.release.formats import read_release
from shoal.release.release import Release
from shoal.release.step import StepRelease, step_files, step_from_files
from shoal.release.synopsis import SynopsisRelease, synopsis_files, synopsis_from_files
from shoal.release.zone_files import zoned_files, zoned_from_files
from shoal.release.zoned import ZonedRelease

AnyRelease: TypeAlias = Release | SynopsisRelease | CoresetRelease | StepRelease


def load(folder: str | os.PathLike[str]) -> AnyRelease:
    """Read what was released into a folder: groups, a synopsis, a coreset, or what a step learnt.

    Parameters
    ----------
    folder : path
        Where it was saved.
    """
    return released(read_release(folder))


def released(files: Mapping[str, bytes]) -> AnyRelease:
    """Read a release of any kind from its files, which are of today's format."""
    if ZONES in files:
        return zoned_from_files(files)
    if SYNOPSIS in files:
        return synopsis_from_files(files)
    if CORESET in files:
        return coreset_from_files(files)
    return step_from_files(files) if STEP in files else Release(**from_files(files))


def written(release: AnyRelease) -> dict[str, bytes]:
    """Return the content of every file of a release of any kind, by name."""
    if isinstance(release, ZonedRelease):
        return zoned_files(release)
    if isinstance(release, SynopsisRelease):
        return synopsis_files(release)
    if isinstance(release, CoresetRelease):
        return coreset_files(release)
    return step_files(release) if isinstance(release, StepRelease) else to_files(release)


def registry_of(release: Any) -> dict[str, AlgorithmInfo]:
    """Return where the algorithm of a release, or of a table's part of one, is known."""
    if isinstance(release, StepRelease):
        return {**PIPELINE_STEPS, **PROFILES}
    return REGISTRY if isinstance(release, Release) else SYNOPSES
