"""Total errors: how far another fit of the same table would be, as far as a release itself can tell.

What a look showed, noise taken off, is a table like the real one. One is made up from it, once, and fitted
again and again with fresh public noise; centres are matched to the released ones. All of it follows from the
transcript, so that anybody can do it again, and it costs nothing. It covers what the noise does, to groups
as well as to centres; not what the mechanism does to every fit alike (its bias), nor another sample of rows.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from shoal._typing import Array, Booleans
from shoal.algorithms import Clustering, lookup
from shoal.algorithms.shared.prepare import portion_left
from shoal.postprocess.pairing import paired
from shoal.postprocess.shown import Shown
from shoal.queries import MadeUpCurator, MadeUpTable
from shoal.queries.gate.codec import from_plain
from shoal.release.intervals import UNSTABLE, TotalIntervals
from shoal.release.rerun import run_again

if TYPE_CHECKING:
    from shoal.release.release import Release

REFITS = 24
"""How often the made-up table is fitted: standard deviations are then known to a seventh."""


def total_intervals(release: Release, refits: int = REFITS) -> TotalIntervals:
    """Compute total intervals from the transcript of a release alone.

    Parameters
    ----------
    release : Release
        What may be published.
    refits : int
        How often the made-up table is fitted.
    """
    found = refitted(release, refits)
    if found is None:
        return not_known(release)
    centres, sizes, ok = found
    return _stated(release, centres, sizes, ok)


def refitted(release: Release, refits: int) -> tuple[Array, Array, Booleans] | None:
    """Fit one made-up table again and again, and match what is found to the released groups.

    Returns
    -------
    centres, sizes, kept : ndarray of shapes (refits, k, d), (refits, k) and (refits, k)
        In scaled units, NaN where a refit has fewer groups; and whether each partner is that group's alone.
        None where the algorithm had no look.
    """
    algorithm, found = _algorithm(release), _found_again(release)
    shown = found.uneven or found.shown
    if shown is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeds = _seeds(release, refits + 1)
        table = MadeUpTable(shown, release.domain, seeds[0])
        fits = [_fit(algorithm, table, release, seed) for seed in seeds[1:]]
    numbers, groups = np.unique(release.merged_into, return_inverse=True)
    scaled = _scaled(release, release.centres[numbers])
    matched = [_matched(scaled, fit, release.domain.column_scale) for fit in fits]
    centres, sizes, kept = (np.array([one[i] for one in matched])[:, groups] for i in range(3))
    return centres, sizes, kept


def shown_by(release: Release) -> Shown | None:
    """Return where rows are, as far as a release tells; None where its algorithm had no look."""
    return _found_again(release).shown


def _found_again(release: Release) -> Clustering:
    found: Clustering = run_again(_algorithm(release), release.transcript)
    return found


def _algorithm(release: Release) -> Any:
    certificate = release.certificate
    return from_plain(lookup(certificate.algorithm).algorithm, certificate.parameters)


def _seeds(release: Release, n: int) -> list[int]:
    """Return public seeds that follow from the transcript, so that everybody has the same."""
    drawn = np.random.SeedSequence(int(release.transcript.digest(), 16)).generate_state(n, np.uint64)
    return [int(seed) for seed in drawn]


def _fit(algorithm: Any, table: MadeUpTable, release: Release, seed: int) -> Clustering:
    transcript = release.transcript
    curator = MadeUpCurator(table, transcript.budget, seed, transcript.n_rows)
    found: Clustering = algorithm.run(curator.within(release.domain.bounds, portion_left(transcript)))
    return found


def _scaled(release: Release, centres: Array) -> Array:
    half = release.domain.bounds.half_width
    return np.asarray((centres - release.domain.bounds.middle) / np.where(half > 0, half, 1.0))


def _matched(centres: Array, fit: Clustering, column_scale: Array) -> tuple[Array, Array, Booleans]:
    """Return the partners of centres in a refit, their sizes, and which are partners both ways."""
    merged = np.arange(len(fit.sizes)) if fit.merged_into is None else fit.merged_into
    numbers, groups = np.unique(merged, return_inverse=True)
    others, sizes = fit.centres[numbers], np.bincount(groups, fit.sizes)
    gaps = (((centres[:, np.newaxis] - others) * column_scale) ** 2).sum(axis=2)
    ours, theirs = paired(gaps)
    places, counts = np.full(centres.shape, np.nan), np.full(len(centres), np.nan)
    places[ours], counts[ours] = others[theirs], sizes[theirs]
    kept = np.zeros(len(centres), dtype=bool)
    kept[ours] = (gaps.argmin(axis=1)[ours] == theirs) & (gaps.argmin(axis=0)[theirs] == ours)
    return places, counts, kept


def _stated(release: Release, centres: Array, sizes: Array, kept: Booleans) -> TotalIntervals:
    """Turn refits into intervals around what was released, which was one of such fits itself."""
    noise, half = release.intervals, release.domain.bounds.half_width
    changed = 1 - kept.mean(axis=0)
    # Refits that group rows otherwise say nothing of where this group is, while they are few.
    of_it = kept | (changed > UNSTABLE)
    ours = _scaled(release, release.centres)
    centre_sd, centre_reach = _spread(np.where(of_it[:, :, np.newaxis], centres, np.nan), ours)
    size_sd, size_reach = _spread(np.where(of_it, sizes, np.nan), _joined_sizes(release))
    # Never less than the noise of the last answer alone, nor beyond the bounds.
    low = np.minimum(noise.centre_low, release.centres - centre_reach * half)
    high = np.maximum(noise.centre_high, release.centres + centre_reach * half)
    return TotalIntervals(
        level=noise.level,
        centre_low=low,
        centre_high=high,
        size_low=np.maximum(np.minimum(noise.size_low, release.sizes - size_reach), 0.0),
        size_high=np.maximum(noise.size_high, release.sizes + size_reach),
        centre_sd=np.maximum(release.centre_sd, centre_sd * half),
        size_sd=np.maximum(release.size_sd, size_sd),
        changed=changed,
        refits=len(kept),
    )


def _joined_sizes(release: Release) -> Array:
    """Return the size of the group that each is one with: that is what refits find."""
    return np.asarray(np.bincount(release.merged_into, release.sizes)[release.merged_into])


def _spread(values: Array, released: Array) -> tuple[Array, Array]:
    """Return the standard deviation of fits around their middle, and how far 95 % of them reach.

    Where refits agree on another place than the released one, the made-up table is not quite like the real
    one, and fits of that waver by about as much: they reach as far as the gap at least.
    """
    n = np.isfinite(values).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where no refit has such a group
        middle = np.nanmedian(values, axis=0)
        sd = np.sqrt(np.nansum((values - middle) ** 2, axis=0) / np.maximum(n - 1, 1))
        gap = np.abs(middle - released)
    sure = n > 1
    reach = np.maximum(sd * special.stdtrit(np.maximum(n - 1, 1), 0.975), gap)
    return np.where(sure, np.maximum(sd, gap / 2), np.inf), np.where(sure, reach, np.inf)


def not_known(release: Release) -> TotalIntervals:
    """Return total intervals that say nothing, where no look tells what another fit would do."""
    k, shape = len(release.sizes), release.centres.shape
    return TotalIntervals(
        level=release.intervals.level,
        centre_low=np.full(shape, -np.inf),
        centre_high=np.full(shape, np.inf),
        size_low=np.zeros(k),
        size_high=np.full(k, np.inf),
        centre_sd=np.full(shape, np.inf),
        size_sd=np.full(k, np.inf),
        changed=np.full(k, np.nan),
        refits=0,
    )
