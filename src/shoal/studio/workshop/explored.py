"""A table that is explored: one paid look, levels tried on made-up rows, and the real rows on one screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import BudgetExceeded, InvalidInput
from shoal.release.synopsis import SynopsisRelease
from shoal.studio.workshop import models
from shoal.studio.workshop.draft import ESTIMATE, digest
from shoal.studio.workshop.jobs import PREPARE, WAITING, Job
from shoal.studio.workshop.levels import LEVELS, Level, level_of
from shoal.studio.workshop.opened import Opened
from shoal.studio.workshop.prices import price
from shoal.studio.workshop.values import LevelView, Price

if TYPE_CHECKING:
    from shoal.queries import NotForRelease


class Explored(Opened):
    """The second story of a study: what is paid for once, and free to look at from then on."""

    # The one paid look, and what is free from then on.

    def price_of_preview(self) -> Price:
        """Return what the one look costs: nothing, where it was paid for."""
        draft = self._ready()
        return price(self, draft.preview_epsilon, what="the look", paid=self._look_folder().is_dir())

    def prepare(
        self, levels: Sequence[Level | str | float] = LEVELS, *, by: str = "curator", seed: int = 0
    ) -> Job:
        """Pay for one small synopsis, once, and try every level on rows made up from it.

        Parameters
        ----------
        levels : sequence of Level, str or float
            Which; all that have names, if not given.
        by : str
            Who asks.
        seed : int
            Of made-up rows and of what is tried on them: public.
        """
        draft = self._ready()
        wanted = [level_of(level).to_dict() for level in levels]
        key = self._view_key(draft)
        token = f"prepare:{self.id}:{key}:{digest(wanted)}:{seed}"
        if not self.price_of_preview().enough:
            raise BudgetExceeded(self.price_of_preview().sentence)
        models.check_plan(self, draft.preview_epsilon)
        request = {
            "levels": wanted,
            "seed": seed,
            "draft": draft.to_dict(),
            "source": self.source.to_dict(),
            "look": self._look_key(draft),
            "views": key,
        }
        return self._ask(PREPARE, token, request, by, WAITING)

    def views(self) -> tuple[LevelView, ...]:
        """Return the levels that were prepared for the present declarations, strongest first."""
        found = models.read_views(self._views_file())
        return found if self.draft.zones is None else tuple(map(models.without_zones, found))

    def view(self, level: Level | str | float) -> LevelView:
        """Return one prepared level."""
        wanted = level_of(level)
        for view in self.views():
            if view.level.epsilon == wanted.epsilon:
                return view
        raise InvalidInput(f"level {wanted.name!r} is not prepared yet for these declarations: prepare it")

    def look(self) -> SynopsisRelease | None:
        """Return the released synopsis that made-up rows are drawn from; None before it is paid for."""
        folder = self._look_folder()
        return SynopsisRelease.load(folder) if folder.is_dir() else None

    def bounds(self) -> dict[str, tuple[Any, Any]] | None:
        """Return the bounds that maps open on: declared, or released by the look; None before that."""
        found: dict[str, tuple[Any, Any]] | None
        found = models.bounds_of(self.draft, self.look() if self.draft.bounds == ESTIMATE else None)
        return found

    def clipped(self) -> dict[str, dict[str, float]]:
        """Return what share of each column is missing, below and above the bounds, as the look counted.

        Each has the standard deviation of its noise, `noise_sd`. Empty before the look is paid for.
        """
        look = self.look()
        return {} if look is None else {name: dict(found) for name, found in look.certificate.clipped.items()}

    # Looking at real rows.

    def look_at_real_rows(self, on: bool = True, *, by: str = "curator") -> Self:
        """Switch the red layer on or off. That is recorded in the ledger, and later certificates say it.

        Parameters
        ----------
        on : bool
            Whether real rows may be looked at, on the curator's screen alone.
        by : str
            Who switches it.
        """
        draft = self._ready()
        if on and not self.looks:
            # First the record: who crashes in between has looked at nothing, and it says that they may have.
            models.note_look(self.studio.accountant(draft.dataset, draft.ledger), by)
        if not on:
            for key in [key for key in self.studio.red if key[0] == self.id]:
                self.studio.red.pop(key, None)
        self.studio.memory.change("UPDATE studies SET looks = ? WHERE id = ?", (int(on), self.id))
        return self

    def red_centres(self) -> NotForRelease:
        """Return centres of k-means without privacy: for the curator's screen, and nowhere else."""
        return self._seen("", lambda: models.red_centres(self))

    def preview(self, level: Level | str | float) -> NotForRelease:
        """Return centres of a level tried on the real rows, unpaid: for the curator's screen alone.

        Parameters
        ----------
        level : Level, str or float
            Which.
        """
        epsilon = level_of(level).epsilon
        return self._seen(f":{epsilon}", lambda: models.preview_centres(self, epsilon))

    def _seen(self, which: str, compute: Callable[[], NotForRelease]) -> NotForRelease:
        draft = self._ready()
        if not self.looks:
            raise InvalidInput("the real rows are not looked at: switch that on first; it is recorded")
        # In this process's memory only, for as long as nothing else is declared.
        key = (self.id, self._view_key(draft) + which)
        if key not in self.studio.red:
            self.studio.red[key] = compute()
        return self.studio.red[key]
