"""The API's app: its routes put together, its errors, and its OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

import shoal
from shoal.errors import BudgetExceeded, LedgerUnavailable, ShoalError
from shoal.studio.access.logs import incident
from shoal.studio.access.policy import POLICY, Policy
from shoal.studio.access.roles import VIEWER
from shoal.studio.access.settings import MAX_UPLOAD
from shoal.studio.api import kept, studies
from shoal.studio.api.models import Problem
from shoal.studio.api.routes import PREFIX, Routes
from shoal.studio.workshop import Studio

_ABOUT = """What the studio's pages do, for programs. Send `Authorization: Bearer shoal_...`
(`shoal studio tokens create`). No address of the API takes or gives values that are not for release."""


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
    routes = Routes(api, policy)
    policy.declare(f"{PREFIX}/openapi.json", VIEWER, methods=("GET",))
    _errors(api, studio)
    _openapi(api)
    studies.add(routes, studio, max_upload)
    kept.add(routes, studio)
    return api


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
