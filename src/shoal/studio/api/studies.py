"""The API's routes for studies: a table is opened, declared, explored and released."""

from __future__ import annotations

import tempfile
from typing import Annotated

from fastapi import Header, Query, Request
from starlette.concurrency import run_in_threadpool

from shoal.errors import InvalidInput, ShoalError
from shoal.studio.access.assembly import current_visit
from shoal.studio.access.roles import CURATOR, VIEWER
from shoal.studio.api.models import Code, Declarations, JobInfo, Me, NewStudy, Prepare, ReleaseAt, StudyInfo
from shoal.studio.api.routes import LevelName, Routes, Visitor, level_from, study_of
from shoal.studio.workshop import LEVELS, ColumnInfo, LevelView, Price, Studio


def add(route: Routes, studio: Studio, max_upload: int) -> None:
    """Add what is done with a table: opened, declared, explored and released.

    Parameters
    ----------
    route : Routes
        Adds one.
    studio : Studio
        What is worked on.
    max_upload : int
        Bytes of a file that is sent.
    """

    @route("GET", "/me", VIEWER)
    def me(user: Visitor) -> Me:
        """Tell who asks, and in which role."""
        return Me(name=user.name, role=user.role.word)

    @route("GET", "/studies", CURATOR)
    def studies() -> list[StudyInfo]:
        """List the studies that are open, the newest first."""
        return [StudyInfo.of(study) for study in studio.studies()]

    @route("POST", "/studies", CURATOR, status_code=201)
    def open_study(given: NewStudy, user: Visitor) -> StudyInfo:
        """Open a file of the studio's machine as a study. Names and types are read, and no row."""
        declared = given.given()
        path, title = declared.pop("path"), declared.pop("title", None) or ""
        try:
            return StudyInfo.of(studio.open(path, title=title, by=user.name, **declared))
        except (OSError, ValueError) as error:
            if isinstance(error, ShoalError):
                raise
            raise InvalidInput("this path cannot be opened; give that of a table on the studio's machine")

    @route(
        "POST",
        "/uploads",
        CURATOR,
        upload=True,
        status_code=201,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def upload(
        request: Request, user: Visitor, name: Annotated[str, Query(min_length=1, max_length=200)]
    ) -> StudyInfo:
        """Send a file, as the body, and open it as a study. It is deleted when the token or session ends."""
        keeper = current_visit(request).keeper
        with tempfile.TemporaryFile() as file:  # of the operating system, without a name
            async for piece in request.stream():
                await run_in_threadpool(file.write, piece)
            file.seek(0)
            source = await run_in_threadpool(studio.upload, name, file, max_upload)
        study = await run_in_threadpool(lambda: studio.open(source=source, by=user.name, session=keeper))
        return StudyInfo.of(study)

    @route("GET", "/studies/{study}", CURATOR)
    def study_info(study: str) -> StudyInfo:
        """Tell what was declared so far, what is missing, and the key of the next release."""
        return StudyInfo.of(study_of(studio, study))

    @route("PATCH", "/studies/{study}", CURATOR)
    def declare(study: str, given: Declarations) -> StudyInfo:
        """Declare columns, bounds, the budget and all else that is public. The key changes with it."""
        return StudyInfo.of(study_of(studio, study).declare(**given.given()))

    @route("DELETE", "/studies/{study}", CURATOR, status_code=204)
    def close_study(study: str) -> None:
        """Close a study; what was sent for it is deleted, what was released stays."""
        study_of(studio, study).close()

    @route("GET", "/studies/{study}/schema", CURATOR)
    def schema(study: str) -> list[ColumnInfo]:
        """List names and types of the file's own schema."""
        return list(study_of(studio, study).schema())

    @route("GET", "/studies/{study}/price", CURATOR)
    def price(study: str, level: LevelName | None = None) -> Price:
        """Tell what a release at a level costs or, without one, the look that levels are prepared from."""
        found = study_of(studio, study)
        return found.price_of_preview() if level is None else found.price_of(level_from(level))

    @route("POST", "/studies/{study}/prepare", CURATOR, status_code=202)
    def prepare(study: str, given: Prepare, user: Visitor) -> JobInfo:
        """Pay for one small synopsis, once, and try levels on rows made up from it."""
        return JobInfo.of(study_of(studio, study).prepare(given.levels or LEVELS, by=user.name))

    @route("GET", "/studies/{study}/views", CURATOR)
    def views(study: str) -> list[LevelView]:
        """Give the levels that are prepared, computed on made-up rows."""
        return list(study_of(studio, study).views())

    @route("GET", "/studies/{study}/views/{level}", CURATOR)
    def view(study: str, level: str) -> LevelView:
        """Give one prepared level."""
        return study_of(studio, study).view(level_from(level))

    @route("GET", "/studies/{study}/code", CURATOR)
    def code(study: str, level: LevelName | None = None) -> Code:
        """Give a step as Python and as a command."""
        found, wanted = study_of(studio, study), None if level is None else level_from(level)
        return Code(python=found.as_python(wanted), command=found.as_command(wanted))

    @route("POST", "/studies/{study}/another", CURATOR)
    def another(study: str) -> StudyInfo:
        """Ask for another release of the same study: a new key."""
        found = study_of(studio, study)
        found.another()
        return StudyInfo.of(found)

    @route("POST", "/studies/{study}/release", CURATOR, status_code=202)
    def release(
        study: str,
        given: ReleaseAt,
        user: Visitor,
        idempotency_key: Annotated[str, Header(min_length=1, max_length=200)],
    ) -> JobInfo:
        """Release at a level. Spends once for each key, however often it is sent: send `release_key`."""
        return JobInfo.of(
            study_of(studio, study).release(given.level, idempotency_key, by=user.name, coreset=given.coreset)
        )
