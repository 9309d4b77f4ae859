"""Which canaries are worth thousands of runs on which algorithm, and why.

A mistake in code that all algorithms share shows in any of them, so the cheapest one stands for all; one in
a rule of a single algorithm can show there alone. Nothing goes untried for that: the exact loss is computed
on every canary for every algorithm, and `every=True` tells all of them apart as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.audit.audited import AUDITED, audited
from shoal.audit.canaries import CANARIES


@dataclass(frozen=True)
class Concern:
    """Some canaries, the algorithms they are about, none meaning all, and why those."""

    canaries: tuple[str, ...]
    why: str
    algorithms: tuple[str, ...] = ()


CONCERNS = (
    Concern(
        ("empty", "alone", "corner", "too few", "all equal"),
        "anything may treat no rows, lonely rows, far rows or equal rows apart",
    ),
    Concern(
        ("duplicates", "dropped", "person"),
        "rows are read, dropped and cut to a person's share before an algorithm asks anything",
        ("lloyd",),
    ),
    Concern(
        ("missing", "outside", "widest"),
        "rows are clipped the same way for all; means, spreads, directions and bounds are about far cells",
        ("lloyd", "scaler", "pca", "bounds"),
    ),
    Concern(
        ("jump",),
        "a grid, a tree, blocks, generations or rounds are sized by a number of rows",
        (
            *("auto", "tree", "lloyd", "grid", "hybrid", "genetic", "sample-aggregate"),
            *("projected", "lsh-tree", "medians", "k-variates", "coreset"),
            *("grid-synopsis", "masked-grid-synopsis", "privtree-synopsis", "private-coreset"),
        ),
    ),
    Concern(
        ("tie",),
        "rounds give every row to the nearest of moving centres",
        ("auto", "swap", "lloyd", "hybrid", "merging", "convergent", "subcluster", "medians"),
    ),
    Concern(
        ("two ends",),
        "published with centres that are rows",
        ("convergent", "subcluster", "convergent-published", "subcluster-published"),
    ),
    Concern(
        ("outlier",),
        "starts or swaps look for far places, which published ones take from the rows",
        ("auto", "tree", "swap", "projected", "lsh-tree", "medians", "k-variates"),
    ),
    Concern(
        ("order",),
        "rows are put into blocks, or taken away and given back",
        ("sample-aggregate", "coreset", "private-coreset"),
    ),
)


def relevant(name: str) -> tuple[str, ...]:
    """Return the names of the canaries that are about an algorithm, in the order of the list.

    Examples
    --------
    >>> relevant("grid")
    ('empty', 'alone', 'corner', 'jump', 'too few', 'all equal')
    """
    row = audited(name)
    mine = {one for c in CONCERNS if row in (c.algorithms or AUDITED) for one in c.canaries}
    return tuple(one for one in CANARIES if one in mine)
