"""The API's app: its routes with their roles, its errors, and its OpenAPI."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException

import shoal
from shoal.errors import BudgetExceeded, InvalidInput, LedgerUnavailable, ShoalError
from shoal.studio.access.assembly import current_visit
from shoal.studio.access.logs import incident
from shoal.studio.access.policy import POLICY, Policy
from shoal.studio.access.roles import CURATOR, VIEWER, Role, User
from shoal.studio.access.settings import MAX_UPLOAD
from shoal.studio.api.models import (
    Code,
    Declarations,
    JobInfo,
    Me,
    NewDataset,
    NewStudy,
    Prepare,
    Problem,
    Refusal,
    ReleaseAt,
    ReleaseInfo,
    StudyInfo,
)
from shoal.studio.workshop import (
    LEVELS,
    BudgetStory,
    ColumnInfo,
    Job,
    Level,
    LevelView,
    Price,
    ReleaseRecord,
    Studio,
    Study,
)

_Found = TypeVar("_Found")

PREFIX = "/api/v1"
"""Where the API is; another version of it would be beside it."""

_ABOUT = """What the studio's pages do, for programs. Send `Authorization: Bearer shoal_...`
(`shoal studio tokens create`). No address of the API takes or gives values that are not for release."""


def _visitor(request: Request) -> User:
    user = current_visit(request).user
    if user is None:  # the guard lets nobody come so far
        raise HTTPException(401)
    return user


Visitor = Annotated[User, Depends(_visitor)]
# As workshop.levels takes it: a word, or an epsilon.
LevelName = Annotated[str, Query(min_length=1, max_length=64)]


def create_api(studio: Studio, *, max_upload: int = MAX_UPLOAD, policy: Policy = POLICY) -> FastAPI:
    """Make the API of a studio, to be mounted at `PREFIX`; every route says which role it asks for.

    Parameters
    ----------
    studio : Studio
        What is worked on.
    max_upload : int
        Bytes of a file that is sent.
    policy : Policy
        Where roles are declared.
    """
    api = FastAPI(
        title="Shoal Studio",
        version=shoal.__version__,
        description=_ABOUT,
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/openapi.json",
        responses={code: {"model": Problem} for code in (401, 403, 404, 409, 422)},
    )
    routes = _Routes(api, policy)
    policy.declare(f"{PREFIX}/openapi.json", VIEWER, methods=("GET",))
    _errors(api, studio)
    _openapi(api)
    _studies(routes, studio, max_upload)
    _jobs(routes, studio)
    _releases(routes, studio)
    _budgets(routes, studio)
    return api


class _Routes:
    """Adds a route and declares its role, in one go: one cannot be had without the other."""

    def __init__(self, api: FastAPI, policy: Policy) -> None:
        self._api, self._policy = api, policy

    def __call__(
        self, method: str, path: str, role: Role, *, upload: bool = False, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        self._policy.declare(PREFIX + path, role, methods=(method,), upload=upload)
        return self._api.api_route(path, methods=[method], tags=[role.word], **options)


def _studies(route: _Routes, studio: Studio, max_upload: int) -> None:
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
        return StudyInfo.of(_study(studio, study))

    @route("PATCH", "/studies/{study}", CURATOR)
    def declare(study: str, given: Declarations) -> StudyInfo:
        """Declare columns, bounds, the budget and all else that is public. The key changes with it."""
        return StudyInfo.of(_study(studio, study).declare(**given.given()))

    @route("DELETE", "/studies/{study}", CURATOR, status_code=204)
    def close_study(study: str) -> None:
        """Close a study; what was sent for it is deleted, what was released stays."""
        _study(studio, study).close()

    @route("GET", "/studies/{study}/schema", CURATOR)
    def schema(study: str) -> list[ColumnInfo]:
        """List names and types of the file's own schema."""
        return list(_study(studio, study).schema())

    @route("GET", "/studies/{study}/price", CURATOR)
    def price(study: str, level: LevelName | None = None) -> Price:
        """Tell what a release at a level costs or, without one, the look that levels are prepared from."""
        found = _study(studio, study)
        return found.price_of_preview() if level is None else found.price_of(_level(level))

    @route("POST", "/studies/{study}/prepare", CURATOR, status_code=202)
    def prepare(study: str, given: Prepare, user: Visitor) -> JobInfo:
        """Pay for one small synopsis, once, and try levels on rows made up from it."""
        return JobInfo.of(_study(studio, study).prepare(given.levels or LEVELS, by=user.name))

    @route("GET", "/studies/{study}/views", CURATOR)
    def views(study: str) -> list[LevelView]:
        """Give the levels that are prepared, computed on made-up rows."""
        return list(_study(studio, study).views())

    @route("GET", "/studies/{study}/views/{level}", CURATOR)
    def view(study: str, level: str) -> LevelView:
        """Give one prepared level."""
        return _study(studio, study).view(_level(level))

    @route("GET", "/studies/{study}/code", CURATOR)
    def code(study: str, level: LevelName | None = None) -> Code:
        """Give a step as Python and as a command."""
        found, wanted = _study(studio, study), None if level is None else _level(level)
        return Code(python=found.as_python(wanted), command=found.as_command(wanted))

    @route("POST", "/studies/{study}/another", CURATOR)
    def another(study: str) -> StudyInfo:
        """Ask for another release of the same study: a new key."""
        found = _study(studio, study)
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
            _study(studio, study).release(given.level, idempotency_key, by=user.name, coreset=given.coreset)
        )


def _jobs(route: _Routes, studio: Studio) -> None:
    @route("GET", "/jobs", CURATOR)
    def jobs() -> list[JobInfo]:
        """List all jobs, the newest first."""
        return [JobInfo.of(job) for job in studio.jobs()]

    @route("GET", "/jobs/{job}", CURATOR)
    def job_info(job: str) -> JobInfo:
        """Tell how far a job is."""
        return JobInfo.of(_job(studio, job))

    @route("POST", "/jobs/{job}/stop", CURATOR)
    def stop(job: str) -> JobInfo:
        """Ask a job to stop. What was charged until then counts."""
        return JobInfo.of(_job(studio, job).stop())

    @route("POST", "/jobs/{job}/resume", CURATOR)
    def resume(job: str) -> JobInfo:
        """Go on from the ledger; nothing is spent twice."""
        return JobInfo.of(_job(studio, job).resume())

    @route("POST", "/jobs/{job}/approve", CURATOR)
    def approve(job: str, user: Visitor) -> JobInfo:
        """Approve a release that somebody else asked for."""
        return JobInfo.of(_job(studio, job).approve(user.name))

    @route("POST", "/jobs/{job}/refuse", CURATOR)
    def refuse(job: str, given: Refusal, user: Visitor) -> JobInfo:
        """Refuse a release that awaits approval; nothing was spent."""
        return JobInfo.of(_job(studio, job).refuse(user.name, given.why))


def _releases(route: _Routes, studio: Studio) -> None:
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
        return ReleaseInfo.of(_release(studio, release))

    @route("GET", "/releases/{release}/files/{name}", VIEWER, response_class=Response)
    def download(release: str, name: str) -> Response:
        """Download a file of a release."""
        record = _release(studio, release)
        found = next((file for file in record.downloads() if file.name == name), None)
        if found is None:
            raise HTTPException(404, f"release {release!r} has no such file; its files are listed with it")
        headers = {"content-disposition": f'attachment; filename="{found.name}"'}
        return Response(record.download(name), media_type=found.media_type, headers=headers)

    @route("PUT", "/releases/{release}/share", CURATOR)
    def share(release: str) -> ReleaseInfo:
        """Give a release a public page, at an address that cannot be guessed."""
        return ReleaseInfo.of(studio.share(_release(studio, release).id))

    @route("DELETE", "/releases/{release}/share", CURATOR)
    def withdraw(release: str) -> ReleaseInfo:
        """Take the public page away."""
        return ReleaseInfo.of(studio.share(_release(studio, release).id, on=False))


def _budgets(route: _Routes, studio: Studio) -> None:
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


def _study(studio: Studio, name: str) -> Study:
    return _found(studio.study, name)


def _job(studio: Studio, name: str) -> Job:
    return _found(studio.job, name)


def _release(studio: Studio, name: str) -> ReleaseRecord:
    return _found(studio.release, name)


def _found(find: Callable[[str], _Found], name: str) -> _Found:
    try:
        return find(name)
    except InvalidInput as missing:
        raise HTTPException(404, str(missing)) from None


def _level(given: str) -> str | float:
    """Read a level of an address: a word, or an epsilon."""
    try:
        return float(given)
    except ValueError:
        return given


def _errors(api: FastAPI, studio: Studio) -> None:
    """Say what Shoal says; of anything else, that it went wrong."""

    def told(status: int, detail: str, error: str | None = None) -> JSONResponse:
        return JSONResponse({"status": status, "detail": detail, "error": error}, status)

    @api.exception_handler(ShoalError)
    async def refused(_: Request, error: ShoalError) -> JSONResponse:
        status = (
            409 if isinstance(error, BudgetExceeded) else 503 if isinstance(error, LedgerUnavailable) else 422
        )
        return told(status, str(error).replace(f"{studio.home}/", ""), type(error).__name__)

    @api.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        # Where and why, not what was sent: it may be a row that came to the wrong address.
        lines = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
        return told(422, "; ".join(lines[:10]), "InvalidInput")

    @api.exception_handler(StarletteHTTPException)
    async def plain(_: Request, error: StarletteHTTPException) -> JSONResponse:
        # 400 is FastAPI's word for a body that is no JSON: bad input, as any other.
        return told(422 if error.status_code == 400 else error.status_code, str(error.detail))

    @api.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        return told(500, f"something went wrong; the log has its place under {incident(error)}")


def _openapi(api: FastAPI) -> None:
    """Tell in the OpenAPI that tokens are wanted."""
    plain = api.openapi

    def made() -> dict[str, Any]:
        told = plain()
        told.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        told["security"] = [{"token": []}]
        told["servers"] = [{"url": PREFIX}]
        return told

    api.openapi = made  # type: ignore[method-assign]
