"""What the pages of one study share: its frame, steps and summary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shoal.errors import ShoalError
from shoal.studio.pages.desk import Desk
from shoal.studio.pages.frame import frame, note, steps, summary
from shoal.studio.pages.tour import guide
from shoal.studio.workshop import Study


@contextmanager
def at_study(
    desk: Desk, id: str, step: str, title: str, tour: int = 0, lede: str = ""
) -> Iterator[Study | None]:
    """Lay out a page of a study; where there is none, say so and give None.

    Parameters
    ----------
    desk : Desk
        Where studies lie.
    id : str
        Which.
    step : str
        Where in the work this page is.
    title, lede : str
        Of the page.
    tour : int
        Whether the tour goes along.
    """
    try:
        study = desk.studio.study(id)
        reached = _reached(study)
    except ShoalError as error:
        with frame("There is no such table", here="Tables", **desk.who):
            note(f"{error}.", "warn")
            yield None
        return
    with frame(title, here="Tables", lede=lede, **desk.who):
        steps(study.id, step, reached, tour)
        summary(desk.summary(study))
        if tour:
            guide(study, step)
        yield study


def _reached(study: Study) -> list[str]:
    done = []
    if not study.draft.missing():
        done.append("open")
    if study.views():
        done.append("explore")
    if study.draft.zones:
        done.append("zones")
    if study.releases():
        done.append("release")
    return done
