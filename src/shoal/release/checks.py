"""What a release must satisfy. Each check returns what it found, or raises with what is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.accounting import NoGuarantee
from shoal.algorithms import counts_clipped, lookup, run_prepared
from shoal.errors import InvalidRelease, MostlyNoise, ReplayMismatch
from shoal.queries import (
    ReplayCurator,
    Transcript,
)
from shoal.queries.gate.codec import digest, from_plain
from shoal.release.certificate import SHARED, Certificate
from shoal.release.coreset import Part
from shoal.release.files import ARRAYS, TABLE, read_npz
from shoal.release.folder import FORMAT
from shoal.release.formats import NOT_STATED, same_numbers, upgraded
from shoal.release.loading import AnyRelease, registry_of
from shoal.release.loading import written as write_anew
from shoal.release.release import Release
from shoal.release.step import StepRelease
from shoal.release.synopsis import SynopsisRelease
from shoal.release.totals import total_intervals

# Mathematical functions differ in their last bits between machines; sums and quotients do not.
_CLOSE = 1e-6


def check_copies(release: AnyRelease, files: Mapping[str, bytes], written: int = FORMAT) -> str:
    """Check that every file says what the release says, by writing them anew.

    Those of an older format are worded otherwise: of them numbers are compared.
    """
    anew = write_anew(release)
    arrays = [name for name in anew if name.endswith(ARRAYS)]  # of zones, one for each
    if differ := sorted(set(anew) ^ set(files)):
        raise InvalidRelease(f"{', '.join(differ)}: there, but should not be, or the other way round")
    for name, data in anew.items():
        if written == FORMAT and name not in arrays and data != files[name]:
            raise InvalidRelease(f"{name} does not say what {ARRAYS}, the transcript and the certificate say")
    if written < FORMAT and not same_numbers(files, anew):
        raise InvalidRelease(f"{TABLE} does not have the numbers of {ARRAYS}")
    today = upgraded(files)
    for name in arrays:
        ours, theirs = read_npz(anew[name]), read_npz(today[name])
        if ours.keys() != theirs.keys() or not all(_same(ours[n], theirs[n]) for n in ours):
            raise InvalidRelease(f"{name} holds other arrays than the release has")
    return f"{len(files)} files say the same" if written == FORMAT else f"numbers of format {written} agree"


def check_charges(transcript: Transcript) -> str:
    """Check every charge against what its question costs."""
    curator = ReplayCurator(transcript)
    for i, entry in enumerate(transcript.entries):
        wanted = curator.price(entry.question)
        if wanted != entry.charge:
            raise InvalidRelease(f"question {i} is charged {_show(entry.charge)}; it costs {_show(wanted)}")
        curator = curator.after(entry.question)
    return f"{len(transcript.charges)} charges recomputed from the questions"


def _show(charge: Any) -> str:
    return "nothing" if charge is None else f"{charge.amount} {charge.currency} for {charge.mechanism}"


def check_budget(transcript: Transcript) -> str:
    """Check that the charges add up to no more than the budget."""
    budget = transcript.budget
    if isinstance(budget, NoGuarantee):
        if transcript.charges:
            raise InvalidRelease("there is no guarantee, but something is charged")
        return "no guarantee: there is nothing to spend"
    spent = sum((charge.amount for charge in transcript.charges), Fraction(0))
    if any(charge.currency != budget.currency for charge in transcript.charges) or spent > budget.amount:
        raise InvalidRelease(f"charges add up to {spent}, the budget is {budget.amount} {budget.currency}")
    return f"{float(spent):.6g} of {float(budget.amount):.6g} {budget.currency} spent"


def check_answers(transcript: Transcript) -> str:
    """Check that answers have the shapes and the spread that the questions imply."""
    curator = ReplayCurator(transcript)
    for i, entry in enumerate(transcript.entries):
        question, answer = entry.question, entry.answer
        known = isinstance(answer, question.answers)
        if not known or not question.fits(answer, curator.law(question), curator.terms):
            raise InvalidRelease(f"answer {i} is not one to {question.describe()}")
        curator = curator.after(question)
    return f"{len(transcript.entries)} answers have the shapes and the spread that the questions imply"


def replay(release: Release, counted: bool = False) -> Release:
    """Run the algorithm again on the recorded answers; it must give exactly the released groups.

    Of a zone whose rows were `counted` first, to share groups out, that count is asked again.
    """
    certificate, transcript = release.certificate, release.transcript
    algorithm = from_plain(lookup(certificate.algorithm).algorithm, certificate.parameters)
    # A number that was chosen from the answers is compared below, with the sizes of the run.
    if algorithm.n_clusters not in ("auto", len(release.sizes)):
        raise InvalidRelease(f"{algorithm.n_clusters} clusters asked for, {len(release.sizes)} released")
    curator = ReplayCurator(transcript)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MostlyNoise)  # it was said at the time
            clipped = counts_clipped(transcript)
            clustering = run_prepared(algorithm, curator, count_clipped=clipped, count_zone=counted)
        curator.finish()
    except ReplayMismatch as error:
        then, now = certificate.versions.get("numpy"), np.__version__
        other = "" if then == now else f" (written with numpy {then}, run again with {now})"
        raise InvalidRelease(f"{error}{other}") from None
    again = Release.of(clustering, certificate, transcript)
    if digest(again.domain) != digest(release.domain):
        raise InvalidRelease("the run ends in another schema than the released one")
    for name in ("centres", "sizes", "merged_into"):
        if not _same(getattr(again, name), getattr(release, name)):
            raise InvalidRelease(f"the run gives other {name} than the released ones")
    return again


def check_errors(release: Release, again: Release) -> str:
    """Check standard errors and intervals against those of the replayed run."""
    said, true = release.intervals, again.intervals
    # An end near zero is compared with the width of its column, or with the noise of a size.
    width, noise = 2 * again.domain.bounds.half_width, again.size_sd
    pairs = {
        "centre_sd": (release.centre_sd, again.centre_sd, width),
        "size_sd": (release.size_sd, again.size_sd, noise),
        "level": (said.level, true.level, 0.0),
        "centre_low": (said.centre_low, true.centre_low, width),
        "centre_high": (said.centre_high, true.centre_high, width),
        "size_low": (said.size_low, true.size_low, noise),
        "size_high": (said.size_high, true.size_high, noise),
    }
    for name, (ours, theirs, scale) in pairs.items():
        if not _close(ours, theirs, scale):
            raise InvalidRelease(f"{name} does not follow from the noise of the answers")
    return "standard errors and intervals follow from the noise of the answers"


def check_totals(release: Release) -> str:
    """Compute total intervals again: from the transcript, with the seeds that follow from it."""
    said, true = release.totals, total_intervals(release)
    assert said is not None
    if said.refits != true.refits:
        raise InvalidRelease(f"total intervals state {said.refits} refits; {true.refits} are made")
    width, noise = 2 * release.domain.bounds.half_width, release.size_sd
    scales: dict[str, Any] = {"centre_sd": width, "centre_low": width, "centre_high": width}
    scales |= {"size_sd": noise, "size_low": noise, "size_high": noise}
    for name, scale in scales.items():
        if not _close(getattr(said, name), getattr(true, name), scale):
            raise InvalidRelease(f"total {name} does not follow from refits of the made-up table")
    if not np.array_equal(said.changed, true.changed, equal_nan=True):
        raise InvalidRelease("which groups are stable does not follow from refits of the made-up table")
    return "total intervals follow from refits of the made-up table" if true.known else "not known"


def check_certificate(release: Release | SynopsisRelease | StepRelease | Part, written: int = FORMAT) -> str:
    """Check what the certificate states against the transcript, as far as its format states it."""
    certificate = release.certificate
    info = lookup(certificate.algorithm, registry_of(release))
    issued = Certificate.issue(
        info,
        release.transcript,
        release.domain,
        algorithm=from_plain(info.algorithm, certificate.parameters),
        private_entropy="not private" not in release.transcript.entropy,
        shared=certificate.composition == SHARED,
        ledger=certificate.ledger,
    )
    if missing := [name for name in issued.versions if not certificate.versions.get(name)]:
        raise InvalidRelease(f"the versions of {', '.join(missing)} are not stated")
    # Wording that a later registry may improve, what was installed then, and parameters that came later.
    issued = replace(
        issued,
        paper=certificate.paper,
        condition=certificate.condition,
        versions=certificate.versions,
        parameters=_as_far_as(certificate.parameters, issued.parameters),
    )
    if isinstance(release, Release):
        issued = release.stated_on(issued)
    for field in fields(certificate):
        if field.name in NOT_STATED.get(written, ()):
            continue
        said, true = getattr(certificate, field.name), getattr(issued, field.name)
        if digest(said) != digest(true):
            raise InvalidRelease(f"it states {field.name} as {said}; the transcript says {true}")
    return "guarantee, unit, charges, bounds and digest agree with the transcript"


def _as_far_as(stated: Any, found: Any) -> Any:
    """Return what was found of the parameters that are stated: later ones have the values of before."""
    if not (isinstance(stated, dict) and isinstance(found, dict)):
        return found
    return {name: _as_far_as(stated[name], value) for name, value in found.items() if name in stated}


def _same(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _close(a: Any, b: Any, scale: Any = 0.0) -> bool:
    if np.shape(a) != np.shape(b):
        return False
    # By hand: where cells are infinite, NumPy 1's isclose takes no array of tolerances.
    a, b = np.asarray(a), np.asarray(b)
    with np.errstate(invalid="ignore"):
        near = (np.abs(a - b) <= _CLOSE * (scale + np.abs(b))) & np.isfinite(b)
    return bool(np.all((a == b) | near))
