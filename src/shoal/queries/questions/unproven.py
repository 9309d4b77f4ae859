"""What was published without privacy: **no guarantee**, kept to compare with.

It reads rows and hands some of them out, so it may live only here, inside the gate, and run only where no
guarantee is asked for (`NoGuarantee`): no budget is charged, and nothing that comes of it claims one.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from shoal._typing import Array
from shoal.accounting import NoGuarantee
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import Entropy, public_seed
from shoal.queries.questions.answers import NotPrivate
from shoal.queries.questions.base import Question, Source, Tally, Terms, shaped


class Unproven(Question[None, NotPrivate, NotPrivate]):
    """Base class of tasks without a guarantee, which are run on all rows at once."""

    n_clusters: int

    @property
    @abstractmethod
    def n_visits(self) -> int:
        """How often it shows its centres on the way."""

    def law(self, terms: Terms) -> None:
        """There is none."""

    def charge(self, law: None, terms: Terms, tally: Tally) -> None:
        """Refuse wherever anything is promised; where nothing is, nothing is charged."""
        if not isinstance(terms.budget, NoGuarantee):
            raise InvalidBudget(
                f"{self.describe()}; it cannot be had where {terms.budget.describe()} is promised"
            )

    def noisy(self, source: Source, law: None, terms: Terms, entropy: Entropy) -> NotPrivate:
        """Run it on all rows, which must be here."""
        if not getattr(source, "here", True):
            raise InvalidInput(
                f"{self.describe()}: it wants all rows in one place, so it is not run on an engine; pass the "
                "table in memory. What has a guarantee (published=False) runs on every engine"
            )
        chunks = source.reduce(lambda chunk: [chunk.columns], lambda a, b: [*a, *b])
        exact_rows = np.concatenate(chunks, axis=1).T.astype(np.float64)
        return self.exact_run(exact_rows, np.random.Generator(np.random.PCG64(public_seed(entropy))))

    def rehearse(self, rows: float, law: None, terms: Terms) -> NotPrivate:
        """Put all centres in the middle."""
        shape = self.n_clusters, terms.n_columns
        return NotPrivate(np.zeros(shape), np.zeros((self.n_visits, *shape)))

    def answer(self, noisy: NotPrivate, law: None, terms: Terms) -> NotPrivate:
        """Hand it on."""
        return noisy

    def fits(self, answer: NotPrivate, law: None, terms: Terms) -> bool:
        """Check the shapes."""
        shape = self.n_clusters, terms.n_columns
        return shaped(answer.centres, *shape) and shaped(answer.visited, self.n_visits, *shape)

    @abstractmethod
    def exact_run(self, rows: Array, rng: np.random.Generator) -> NotPrivate:
        """Run it on rows of shape (n, d)."""
