"""What pages work on: the studio, who is there, and how errors are told."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from nicegui import run, ui

from shoal.errors import ShoalError
from shoal.studio.access import CURATOR, User, current_user
from shoal.studio.workshop import Level, Studio, Study, level_of

T = TypeVar("T")

ASSETS = Path(__file__).parent / "assets"

# The usual choice, until another level is chosen.
USUAL = "good"
# Where tiles come from if they are switched on.
TILES = "https://tile.openstreetmap.org/{z}/{x}/{y}.png"


@dataclass(frozen=True)
class Desk:
    """The studio behind the pages.

    Parameters
    ----------
    studio : Studio
        What is worked on.
    basemap : dict, optional
        The holder's own GeoJSON, drawn under every map.
    online_tiles : bool
        Whether maps may ask for tiles elsewhere.
    max_upload : int
        Bytes of a file that may be sent.
    many : bool
        Whether there are users, whose names are shown.
    """

    studio: Studio
    basemap: dict[str, Any] | None = None
    online_tiles: bool = False
    max_upload: int = 2**30
    many: bool = False

    @property
    def user(self) -> User:
        """Who is looking at the page."""
        found = current_user()
        assert found is not None, "a page asks for a role"
        return found

    @property
    def who(self) -> dict[str, Any]:
        """What the frame says about the user."""
        user = self.user
        return {"user": user.name if self.many else "", "curator": user.role is CURATOR}

    def level(self, study: Study) -> Level:
        """Return the level that was chosen for a study."""
        return study.chosen or level_of(USUAL)

    def ground(self, study: str) -> dict[str, Any]:
        """Return what lies under a picture of a study's release: the holder's own map, the city's, or the world."""
        if self.basemap is not None:
            return self.basemap
        return city() if self.is_demo(study) else world()

    def is_demo(self, study: str) -> bool:
        """Whether a study is of the made-up city; also after it was closed."""
        try:
            return self.studio.study(study).source.kind == "demo"
        except ShoalError:
            return False

    def summary(self, study: Study) -> list[str]:
        """Sum up a study in a few parts, with its level."""
        level = self.level(study)
        zones = study.draft.zones
        count = len(zones.get("features") or zones.get("levels") or ()) if zones else 0
        drawn = [f"{count} zone{'s' if count > 1 else ''}"] if count else []
        said = [part for part in study.summary().split(" · ") if not part.startswith("level ")]
        return [*said, *drawn, f"level: {level.name} (ε {level.epsilon:g})"]


@functools.lru_cache(maxsize=1)
def city() -> dict[str, Any]:
    """Return the map of the made-up city."""
    from shoal.datasets.city_map import city_map

    return city_map()


@functools.lru_cache(maxsize=1)
def world() -> dict[str, Any]:
    """Return the world's land and borders, as they are vendored."""
    found: dict[str, Any] = json.loads((ASSETS / "world.geojson").read_text(encoding="utf-8"))
    return found


async def aside(function: Callable[..., T], *given: Any) -> T:
    """Do what takes a while in a thread, so that other pages go on."""
    return cast(T, await run.io_bound(function, *given))


def told(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a handler say Shoal's errors on the page instead of failing."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            except ShoalError as error:
                tell(str(error))

        return later

    @functools.wraps(function)
    def now(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ShoalError as error:
            tell(str(error))

    return now


def tell(words: str) -> None:
    """Say that something cannot be done, and why; it stays until it is closed."""
    ui.notify(words, type="negative", multi_line=True, timeout=0, close_button="Close", classes="told")
