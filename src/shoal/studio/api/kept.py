"""The API's routes for what a studio keeps: jobs, releases and budgets."""

from __future__ import annotations

from fastapi import HTTPException
from fastapi.responses import Response

from shoal.studio.access.roles import CURATOR, VIEWER
from shoal.studio.api.models import JobInfo, NewDataset, Refusal, ReleaseInfo
from shoal.studio.api.routes import Routes, Visitor, job_of, release_of
from shoal.studio.workshop import LEVELS, BudgetStory, Level, Studio


def add(route: Routes, studio: Studio) -> None:
    """Add the routes.

    Parameters
    ----------
    route : Routes
        Adds one.
    studio : Studio
        Whose.
    """
    _jobs(route, studio)
    _releases(route, studio)
    _budgets(route, studio)


def _jobs(route: Routes, studio: Studio) -> None:
    @route("GET", "/jobs", CURATOR)
    def jobs() -> list[JobInfo]:
        """List all jobs, the newest first."""
        return [JobInfo.of(job) for job in studio.jobs()]

    @route("GET", "/jobs/{job}", CURATOR)
    def job_info(job: str) -> JobInfo:
        """Tell how far a job is."""
        return JobInfo.of(job_of(studio, job))

    @route("POST", "/jobs/{job}/stop", CURATOR)
    def stop(job: str) -> JobInfo:
        """Ask a job to stop. What was charged until then counts."""
        return JobInfo.of(job_of(studio, job).stop())

    @route("POST", "/jobs/{job}/resume", CURATOR)
    def resume(job: str) -> JobInfo:
        """Go on from the ledger; nothing is spent twice."""
        return JobInfo.of(job_of(studio, job).resume())

    @route("POST", "/jobs/{job}/approve", CURATOR)
    def approve(job: str, user: Visitor) -> JobInfo:
        """Approve a release that somebody else asked for."""
        return JobInfo.of(job_of(studio, job).approve(user.name))

    @route("POST", "/jobs/{job}/refuse", CURATOR)
    def refuse(job: str, given: Refusal, user: Visitor) -> JobInfo:
        """Refuse a release that awaits approval; nothing was spent."""
        return JobInfo.of(job_of(studio, job).refuse(user.name, given.why))


def _releases(route: Routes, studio: Studio) -> None:
    @route("GET", "/levels", VIEWER)
    def levels() -> list[Level]:
        """List the levels that have names, strongest first."""
        return list(LEVELS)

    @route("GET", "/releases", VIEWER)
    def releases() -> list[ReleaseInfo]:
        """List what was released, the newest first."""
        return [ReleaseInfo.of(record) for record in studio.releases()]

    @route("GET", "/releases/{release}", VIEWER)
    def release_info(release: str) -> ReleaseInfo:
        """Tell of a release."""
        return ReleaseInfo.of(release_of(studio, release))

    @route("GET", "/releases/{release}/files/{name}", VIEWER, response_class=Response)
    def download(release: str, name: str) -> Response:
        """Download a file of a release."""
        record = release_of(studio, release)
        found = next((file for file in record.downloads() if file.name == name), None)
        if found is None:
            raise HTTPException(404, f"release {release!r} has no such file; its files are listed with it")
        headers = {"content-disposition": f'attachment; filename="{found.name}"'}
        return Response(record.download(name), media_type=found.media_type, headers=headers)

    @route("PUT", "/releases/{release}/share", CURATOR)
    def share(release: str) -> ReleaseInfo:
        """Give a release a public page, at an address that cannot be guessed."""
        return ReleaseInfo.of(studio.share(release_of(studio, release).id))

    @route("DELETE", "/releases/{release}/share", CURATOR)
    def withdraw(release: str) -> ReleaseInfo:
        """Take the public page away."""
        return ReleaseInfo.of(studio.share(release_of(studio, release).id, on=False))


def _budgets(route: Routes, studio: Studio) -> None:
    @route("GET", "/datasets", CURATOR)
    def datasets() -> list[str]:
        """List the data sets of the studio's own ledger."""
        return list(studio.datasets())

    @route("POST", "/datasets", CURATOR, status_code=201)
    def create_dataset(given: NewDataset) -> BudgetStory:
        """Lay down a budget for a table; it cannot be raised later."""
        terms = given.model_dump(exclude={"name", "epsilon"}, exclude_none=True)
        return studio.create_dataset(given.name, epsilon=given.epsilon, **terms)

    @route("GET", "/datasets/{dataset}/budget", CURATOR)
    def budget(dataset: str) -> BudgetStory:
        """Tell the story of a data set's budget."""
        if dataset not in studio.datasets():
            raise HTTPException(404, f"there is no data set {dataset!r}")
        return studio.budget(dataset)
