"""Every term of the pages in one sentence, shown where it stands."""

from __future__ import annotations

TERMS = {
    "a privacy level": (
        "How much one person can change what is released. The stronger the level, the more noise is added, "
        "and the less anybody can learn about one person."
    ),
    "epsilon": (
        "The number behind a level: the most by which one person's presence can change the odds of anything "
        "that is released, as a power of e. Smaller is more private; epsilons of releases add up."
    ),
    "delta": (
        "The probability with which the promise of epsilon may fail. Zero means never, and is the usual choice. Above "
        "zero, noise is of another kind, and many releases add up to less; keep it far below one in the number of "
        "people, such as 1e-9 for a million."
    ),
    "the expected error": (
        "How much further rows lie from their nearest centre, in squared distance, than with k-means without "
        "privacy: predicted on made-up rows, so looking at it costs nothing."
    ),
    "a coreset": (
        "A few weighted points that stand for all rows: clustering them is almost as good as clustering the "
        "table. The points on the map are released counts or a coreset, sized by weight."
    ),
    "the ledger": (
        "The book of the table's budget. It lays down a total, and every release writes down what it spends "
        "before it reads a row. When the total is spent, nothing more can be released."
    ),
    "an interval": (
        "The true number lies in it in 95 of 100 releases: noise is known exactly, so it can be said how far "
        "it reaches."
    ),
    "the total error": (
        "How far a released centre may lie from the best centre of its group, in 95 of 100 releases. The disc "
        "round a blue centre has this radius."
    ),
    "a column": "What groups are found by: rows that are alike in these columns come together.",
    "bounds": (
        "The least and the greatest value that a column may have. State them from what the column means, "
        "never from a look at the rows; what lies outside is moved to the edge."
    ),
    "what bounds cut off": (
        "The share of values that lie outside the bounds and are moved to the edge, as the one paid look counted "
        "them, with noise. Much of it at one side pulls groups there: think of wider bounds, from what the column means."
    ),
    "who is protected": (
        "A row, or a person with up to some number of rows. What a person has beyond that number is left out, "
        "so that nobody weighs more than was promised."
    ),
    "the number of groups": "How many centres are released. Left to the data, it is found within the budget.",
    "a zone": (
        "A region with a level of its own, such as the streets round a clinic. Its border is published with "
        "the release, so draw it from public knowledge."
    ),
    "a synopsis": (
        "Noisy counts of boxes, released once. Made-up rows drawn from it are free to look at as often as you like."
    ),
    "a look at real rows": (
        "Choosing by what the real rows look like is itself a leak: the choice then says something about "
        "people, and no epsilon counts it. So it is recorded, and certificates say so."
    ),
    "a certificate": "One page that says what was guaranteed, to whom, and what it cost; for a data protection officer.",
    "a guarantee": (
        "How much anybody can learn about one person from this release, whatever else they know, as an epsilon: "
        "the smaller, the less. The certificate has it in full."
    ),
    "a data set of a ledger": "One table's chapter in the book: its total, and all that was spent of it.",
    "the price": "What this release takes from the ledger's total, for good.",
    "the risk": (
        "Somebody gives even odds that a certain person is in the table. So sure can they be at most after "
        "seeing everything that was ever released."
    ),
    "the sample": "Rows made up on the spot. They are nobody's, and show what a choice does before it is made.",
    "approval": "A second person has to agree before a release spends anything.",
}
