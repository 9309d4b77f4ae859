"""Explore: pay for one small look, then move the slider over levels tried on made-up rows."""

from __future__ import annotations

import html

from nicegui import ui

from shoal.queries import NotForRelease
from shoal.studio.access import CURATOR, page
from shoal.studio.pages.desk import TILES, Desk, aside, told
from shoal.studio.pages.frame import button, code, code_html, named, note, progress_html, summary_html, text
from shoal.studio.pages.scene import scene_of
from shoal.studio.pages.stage import Stage
from shoal.studio.pages.studies import at_study
from shoal.studio.workshop import Job, Study

# Seconds between two looks at a job.
_POLL = 0.4
# Seconds until the picture stands, after which red centres are sent to it.
_SETTLE = 0.8
WHY_LOOKING_LEAKS = (
    "To choose a level, bounds or zones by what the real rows look like is itself a leak: the choice then tells "
    "something about people, and no epsilon counts it. If you look, it is recorded in the ledger, and every later "
    "certificate says that level, bounds and zones may depend on a look. What is red stays on this screen: no release, "
    "export or address hands it out."
)


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/studies/{study}/explore", role=CURATOR)
    def explore(study: str, tour: int = 0) -> None:
        lede = "Move the slider: made-up rows show what a release at each level would look like. Looking at them is free."
        with at_study(desk, study, "explore", "Explore levels of privacy", tour, lede) as found:
            if found is not None:
                Explore(desk, found, tour).show()


class Explore:
    """The page, in whichever of its states a study is: undeclared, unpaid, being prepared, or ready."""

    def __init__(self, desk: Desk, study: Study, tour: int) -> None:
        self.desk, self.study, self.tour = desk, study, tour

    def show(self) -> None:
        """Show the state."""
        study = self.study
        if missing := study.draft.missing():
            note(f"Before anything is read, declare {'; '.join(missing)}.", "warn")
            ui.html("Declare it", sanitize=False, tag="a").classes("btn main").props(
                f'href="/studies/{study.id}/open"'
            )
            return
        if study.views():
            self._stage()
            return
        running = [job for job in study.jobs() if job.kind == "prepare" and not job.over]
        with ui.element("div").classes("card stack narrow"):
            self.box = ui.element("div").classes("stack")
            with self.box:
                self._preparing(running[0]) if running else self._price()

    # Before the look is paid for.

    @told
    def _price(self) -> None:
        price = self.study.price_of_preview()
        named("One small look", "a synopsis", tag="h2", classes="")
        text(
            "Levels are not tried on people. Shoal pays once for a small synopsis, noisy counts of boxes, draws rows from it, "
            "and tries every level on these made-up rows. From then on exploring is free."
        )
        ui.html(
            f'<div class="fact lead"><span class="fact-name">Price</span><strong class="fact-value">ε {price.epsilon:g}</strong>'
            f'<span class="fact-note">{html.escape(price.sentence)}.</span></div>',
            sanitize=False,
        )
        text(f"With it, {price.risk}.", classes="soft small")
        last = next((job for job in self.study.jobs() if job.kind == "prepare"), None)
        if last is not None and last.state in ("failed", "stopped"):
            note(f"The last attempt: {last.message or last.state}.", "warn")
        if price.enough:
            words = "Try the levels" if price.paid else f"Pay ε {price.epsilon:g} and try the levels"
            button(words, self._prepare, kind="main").style("justify-self: start")
        else:
            note("The budget does not hold this look. Nothing was spent.", "red")
        code(self.study.as_python(), self.study.as_command())

    @told
    async def _prepare(self) -> None:
        user = self.desk.user.name
        job = await aside(lambda: self.study.prepare(by=user))
        self.box.clear()
        with self.box:
            self._preparing(job)

    def _preparing(self, job: Job) -> None:
        text("Trying the levels on made-up rows", tag="h2")
        bar = ui.html(progress_html(job.progress, job.message or "beginning"), sanitize=False)
        stop = button("Stop", lambda: job.stop())
        stop.style("justify-self: start")

        async def look() -> None:
            now = await aside(job.refreshed)
            bar.set_content(progress_html(now.progress, now.message or now.state))
            if now.over:
                timer.cancel()
                ui.navigate.reload()

        timer = ui.timer(_POLL, look)

    # With prepared levels.

    def _stage(self) -> None:
        study, desk = self.study, self.desk
        levels = [view.level for view in study.views()]
        scene = scene_of(desk, study)

        def chosen(i: int) -> None:
            level = levels[i]
            study.choose(level)
            panel.set_content(code_html(study.as_python(level), study.as_command(level)))
            ui.run_javascript(
                f"document.querySelector('.sum').innerHTML = {summary_html(desk.summary(study))!r}"
            )

        self.stage = Stage(
            f"/studies/{study.id}/scene.json",
            start=scene["start"],
            on_level=chosen,
            tiles=TILES if desk.online_tiles else "",
        )
        with ui.element("div").classes("row-line").style("margin: 1.1rem 0"):
            more = "?tour=1" if self.tour else ""
            for step, words, kind in (
                ("release", "Release at this level", "btn main"),
                ("zones", "Add zones", "btn"),
            ):
                ui.html(words, sanitize=False, tag="a").classes(kind).props(
                    f'href="/studies/{study.id}/{step}{more}"'
                )
        self._look()
        level = levels[scene["start"]]
        panel = code(study.as_python(level), study.as_command(level))

    def _look(self) -> None:
        with ui.element("section").classes("card look").props('aria-label="Real rows"'):
            with ui.element("div").classes("row-line"):
                named("Look at the real rows", "a look at real rows", tag="h2", classes="minor")
                ui.html("not for release", sanitize=False, tag="span").classes("tag red")
                switch = ui.switch(value=self.study.looks).props(
                    'aria-label="Look at the real rows: red, non-private centres"'
                )
                switch.style("margin-left: auto")
            text(WHY_LOOKING_LEAKS, classes="small soft")
            preview = button("Try this level on the real rows", told(self._preview))
            preview.set_visibility(self.study.looks)
        looked = any("looked at the real rows" in said for said in self._notes())

        async def turn() -> None:
            if switch.value and not looked and not await self._sure():
                switch.value = False
                return
            if switch.value != self.study.looks:
                user = self.desk.user.name
                await aside(lambda: self.study.look_at_real_rows(switch.value, by=user))
            preview.set_visibility(switch.value)
            await self._red(switch.value)

        async def again() -> None:
            await self._red(True)

        switch.on_value_change(told(turn))
        if self.study.looks:
            ui.timer(_SETTLE, told(again), once=True)

    def _notes(self) -> tuple[str, ...]:
        draft = self.study.draft
        return self.desk.studio.budget(draft.dataset, draft.ledger).notes

    async def _sure(self) -> bool:
        with ui.dialog() as dialog, ui.element("div").classes("card stack"):
            text("Look at the real rows?", tag="h2")
            text(WHY_LOOKING_LEAKS)
            with ui.element("div").classes("row-line"):
                button("Do not look", lambda: dialog.submit(False), kind="main")
                button("Look, and record it", lambda: dialog.submit(True), kind="danger")
        return bool(await dialog)

    async def _red(self, on: bool) -> None:
        if not on:
            self.stage.show_red(None)
            return
        self.stage.show_red(_on_this_screen(await aside(self.study.red_centres)))

    async def _preview(self) -> None:
        level = self.desk.level(self.study)
        found = await aside(lambda: self.study.preview(level))
        self.stage.show_preview(level.name, _on_this_screen(found))


def _on_this_screen(found: NotForRelease) -> list[list[float]]:
    return [[float(value) for value in centre] for centre in found.on_the_curators_screen()["centres"]]
