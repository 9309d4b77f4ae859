"""Every algorithm with its paper and what is known of its privacy."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from shoal.algorithms.column_stats import ColumnBounds, ColumnSpreads, PrincipalComponents
from shoal.algorithms.convergent import Convergent
from shoal.algorithms.coreset.coreset import CoresetKMeans, PrivateCoreset
from shoal.algorithms.genetic import Genetic
from shoal.algorithms.grid import GridKMeans, GridSynopsis
from shoal.algorithms.hybrid import Hybrid
from shoal.algorithms.k_variates import KVariates
from shoal.algorithms.kmeans.kmeans import KMeans
from shoal.algorithms.kmeans.tree import TreeKMeans
from shoal.algorithms.lloyd import Lloyd
from shoal.algorithms.lsh_tree.lsh_tree import LSHTree
from shoal.algorithms.medians import Medians
from shoal.algorithms.merging import Merging
from shoal.algorithms.profile import GroupMeans
from shoal.algorithms.projected.projected import ProjectedClustering
from shoal.algorithms.published import Published, PublishedSeeds
from shoal.algorithms.sample_aggregate import SampleAggregate
from shoal.algorithms.subcluster import SubCluster
from shoal.algorithms.swap import SwapLloyd
from shoal.algorithms.synopses.masked_grid import MaskedGridSynopsis
from shoal.algorithms.synopses.privtree import PrivTreeSynopsis
from shoal.errors import InvalidInput


class Status(Enum):
    """What is known of an algorithm's guarantee."""

    PROVEN = "proven"
    REPAIRED = "repaired"
    CLAIMED_ONLY = "claimed only"


@dataclass(frozen=True)
class AlgorithmInfo:
    """One row of the table of algorithms.

    Parameters
    ----------
    name : str
        What the command line calls it.
    estimator : str
        The class in `shoal`.
    paper : str
        Where it comes from.
    status : Status
        What is known of its privacy.
    condition : str
        What the proof needs, or what was repaired.
    proof : str
        The proof note.
    algorithm : type
        The class in `shoal.algorithms`, a frozen value; a release holds its parameters.
    parameters : tuple of (str, value)
        What the estimator has to be made with to be this one.
    """

    name: str
    estimator: str
    paper: str
    status: Status
    condition: str
    proof: str
    algorithm: type[Any]
    parameters: tuple[tuple[str, Any], ...] = ()


REGISTRY: dict[str, AlgorithmInfo] = {
    info.name: info
    for info in (
        AlgorithmInfo(
            name="auto",
            estimator="KMeans",
            paper="Shoal: a synopsis, then rounds that follow the rows",
            status=Status.PROVEN,
            condition="public bounds; what is chosen is read off public facts and noisy answers alone",
            proof="docs/proofs/kmeans.md",
            algorithm=KMeans,
        ),
        AlgorithmInfo(
            name="tree",
            estimator="TreeKMeans",
            paper="Shoal, on Zhang et al. 2016 (PrivTree)",
            status=Status.PROVEN,
            condition="public bounds, a public depth; counts are clamped from below, so that the loss of a "
            "tree does not grow with its depth",
            proof="docs/proofs/tree.md",
            algorithm=TreeKMeans,
        ),
        AlgorithmInfo(
            name="swap",
            estimator="SwapLloyd",
            paper="Shoal: noisy Lloyd with noisy costs and free swaps",
            status=Status.PROVEN,
            condition="public bounds, a fixed number of rounds; swaps read released values alone",
            proof="docs/proofs/swap.md",
            algorithm=SwapLloyd,
        ),
        AlgorithmInfo(
            name="lloyd",
            estimator="DPLloyd",
            paper="Blum et al. 2005; Su et al. 2016 (DPLloyd)",
            status=Status.PROVEN,
            condition="public bounds, a fixed number of rounds, empty clusters noised like any other",
            proof="docs/proofs/lloyd.md",
            algorithm=Lloyd,
        ),
        AlgorithmInfo(
            name="grid",
            estimator="GridKMeans",
            paper="Su et al. 2016 (UG, EUG, EUGkM)",
            status=Status.REPAIRED,
            condition="published with the exact number of rows, which shows in the number of cells; here it "
            "is public or paid for",
            proof="docs/proofs/grid.md",
            algorithm=GridKMeans,
        ),
        AlgorithmInfo(
            name="hybrid",
            estimator="HybridKMeans",
            paper="Su et al. 2016 (Hybrid)",
            status=Status.REPAIRED,
            condition="as grid; the choice whether to refine reads public and noisy values only",
            proof="docs/proofs/hybrid.md",
            algorithm=Hybrid,
        ),
        AlgorithmInfo(
            name="merging",
            estimator="MergingKMeans",
            paper="Ni et al. 2020 (DP-KCCM)",
            status=Status.PROVEN,
            condition="public bounds, one assignment a round, a fixed number of rounds, clamped weights",
            proof="docs/proofs/merging.md",
            algorithm=Merging,
        ),
        AlgorithmInfo(
            name="genetic",
            estimator="GeneticKMeans",
            paper="Zhang et al. 2013 (PrivGene); Su et al. 2016 (PGkM)",
            status=Status.REPAIRED,
            condition="published with generations from the exact number of rows; here it is public or paid "
            "for, and losses are clipped to a range computed from public sets alone",
            proof="docs/proofs/genetic.md",
            algorithm=Genetic,
        ),
        AlgorithmInfo(
            name="sample-aggregate",
            estimator="SampleAggregateKMeans",
            paper="Mohan et al. 2012 (GUPT); Su et al. 2016 (GkM, GkM-3K)",
            status=Status.REPAIRED,
            condition="published with blocks by position, alignment across blocks and the exact number of "
            "rows; here every row draws its block, a block is aligned to public centres, rows are paid for",
            proof="docs/proofs/sample_aggregate.md",
            algorithm=SampleAggregate,
        ),
        AlgorithmInfo(
            name="convergent",
            estimator="ConvergentKMeans",
            paper="Lu and Shen 2020",
            status=Status.REPAIRED,
            condition="published with zones around exact means and centres picked from the rows; here means "
            "are noisy, and zones and candidates are made from released values",
            proof="docs/proofs/convergent.md",
            algorithm=Convergent,
        ),
        AlgorithmInfo(
            name="projected",
            estimator="ProjectedKMeans",
            paper="Balcan et al. 2017",
            status=Status.REPAIRED,
            condition="published with a level more than is paid for and projections that are not clipped, "
            "and in the authors' code with exact sizes and too little noise; here levels are fixed, empty "
            "cubes can be split, images are clipped, sums and sizes are noised together, rows are paid for",
            proof="docs/proofs/projected.md",
            algorithm=ProjectedClustering,
        ),
        AlgorithmInfo(
            name="lsh-tree",
            estimator="LSHTreeKMeans",
            paper="Chang et al. 2021; Google's LSH tree",
            status=Status.PROVEN,
            condition="public bounds and directions, levels fixed from public values; the root and every "
            "level are charged",
            proof="docs/proofs/lsh_tree.md",
            algorithm=LSHTree,
        ),
        AlgorithmInfo(
            name="subcluster",
            estimator="SubClusterKMeans",
            paper="Joshi and Thakkar 2022",
            status=Status.REPAIRED,
            condition="published with sub-clusters found in the rows, drawn by exact size, and rows for "
            "centres; here they are cut around public seeds and asked for noisy sums",
            proof="docs/proofs/subcluster.md",
            algorithm=SubCluster,
        ),
        AlgorithmInfo(
            name="medians",
            estimator="KMedians",
            paper="Balcan et al. 2017; Feldman et al. 2009 (k-medians)",
            status=Status.PROVEN,
            condition="public bounds; routes, rounds and swaps fixed from public values",
            proof="docs/proofs/medians.md",
            algorithm=Medians,
        ),
        AlgorithmInfo(
            name="convergent-published",
            estimator="ConvergentKMeans",
            paper="Lu and Shen 2020",
            status=Status.CLAIMED_ONLY,
            condition="none: not private. Means, zones and candidates are the rows' own",
            proof="docs/proofs/published.md",
            algorithm=Published,
            parameters=(("published", True),),
        ),
        AlgorithmInfo(
            name="subcluster-published",
            estimator="SubClusterKMeans",
            paper="Joshi and Thakkar 2022",
            status=Status.CLAIMED_ONLY,
            condition="none: not private. Sub-clusters and centres are the rows' own",
            proof="docs/proofs/published.md",
            algorithm=Published,
            parameters=(("published", True),),
        ),
        AlgorithmInfo(
            name="k-variates",
            estimator="KVariates",
            paper="Nock et al. 2016 (k-variates++)",
            status=Status.REPAIRED,
            condition="published with noise from constants of the table itself, which does not hide a far "
            "row; here it runs on a released grid",
            proof="docs/proofs/k_variates.md",
            algorithm=KVariates,
        ),
        AlgorithmInfo(
            name="k-variates-published",
            estimator="KVariates",
            paper="Nock et al. 2016 (k-variates++)",
            status=Status.CLAIMED_ONLY,
            condition="none: not private. Which row a centre is drawn at shows a far row",
            proof="docs/proofs/k_variates.md",
            algorithm=PublishedSeeds,
            parameters=(("published", True),),
        ),
        AlgorithmInfo(
            name="coreset",
            estimator="CoresetKMeans",
            paper="Feldman et al. 2017 (PRIVATE-K-MEAN); Nissim et al. 2016 (SMALL-BALL)",
            status=Status.REPAIRED,
            condition="published with the exact number of rows, and with constants that no table meets; here "
            "rows are public or paid for, and small balls are found by choices among public windows",
            proof="docs/proofs/coreset.md",
            algorithm=CoresetKMeans,
        ),
    )
}


SYNOPSES: dict[str, AlgorithmInfo] = {
    info.name: info
    for info in (
        replace(REGISTRY["grid"], estimator="GridSynopsis", algorithm=GridSynopsis),
        AlgorithmInfo(
            name="masked-grid",
            estimator="MaskedGridSynopsis",
            paper="Shoal: a finer grid than Su et al. 2016, less what does not stand out",
            status=Status.PROVEN,
            condition="public bounds; the number of rows is public or paid for; what stands out is read off "
            "noisy counts",
            proof="docs/proofs/masked_grid.md",
            algorithm=MaskedGridSynopsis,
        ),
        replace(
            REGISTRY["tree"],
            estimator="PrivTreeSynopsis",
            paper="Zhang et al. 2016 (PrivTree)",
            algorithm=PrivTreeSynopsis,
        ),
        replace(REGISTRY["coreset"], estimator="PrivateCoreset", algorithm=PrivateCoreset),
    )
}
"""What can be released once and asked for free, with what is known of its privacy."""


PIPELINE_STEPS: dict[str, AlgorithmInfo] = {
    info.name: info
    for info in (
        AlgorithmInfo(
            name="bounds",
            estimator="PrivateBounds",
            paper="Smith 2011; Durfee 2023 (quantiles)",
            status=Status.PROVEN,
            condition="histograms over public intervals; which intervals come next is read off noisy counts",
            proof="docs/proofs/bounds.md",
            algorithm=ColumnBounds,
        ),
        AlgorithmInfo(
            name="scaler",
            estimator="PrivateScaler",
            paper="Dwork et al. 2014 (noisy moments)",
            status=Status.PROVEN,
            condition="bounds are public or paid for; one question for sums, squares and rows together",
            proof="docs/proofs/moments.md",
            algorithm=ColumnSpreads,
        ),
        AlgorithmInfo(
            name="pca",
            estimator="PrivatePCA",
            paper="Dwork et al. 2014 (Analyze Gauss)",
            status=Status.PROVEN,
            condition="bounds are public or paid for; rows are pulled into a ball that a noisy answer gives",
            proof="docs/proofs/moments.md",
            algorithm=PrincipalComponents,
        ),
    )
}
"""What can be learnt before groups are looked for, with what is known of its privacy."""


PROFILES: dict[str, AlgorithmInfo] = {
    "profile": AlgorithmInfo(
        name="profile",
        estimator="GroupProfile",
        paper="Dwork et al. 2006 (noisy sums)",
        status=Status.PROVEN,
        condition="the groups are public: rows nearest to released centres; bounds are public",
        proof="docs/proofs/profile.md",
        algorithm=GroupMeans,
    )
}
"""What can be asked of a table about groups that were released, with what is known of its privacy."""


def lookup(name: str, among: dict[str, AlgorithmInfo] = REGISTRY) -> AlgorithmInfo:
    """Return the row of an algorithm, or say which names are near.

    Examples
    --------
    >>> lookup("lloyd").estimator, lookup("tree", SYNOPSES).estimator
    ('DPLloyd', 'PrivTreeSynopsis')
    """
    if name in among:
        return among[name]
    near = difflib.get_close_matches(name, among, n=3) or sorted(among)
    raise InvalidInput(f"there is no algorithm {name!r}; did you mean {' or '.join(map(repr, near))}?")
