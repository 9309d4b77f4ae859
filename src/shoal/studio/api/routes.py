"""How a route of the API is added, with its role; who asks; and how what an address names is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, HTTPException, Query, Request

from shoal.errors import InvalidInput
from shoal.studio.access.assembly import current_visit
from shoal.studio.access.policy import Policy
from shoal.studio.access.roles import Role, User
from shoal.studio.workshop import Job, ReleaseRecord, Studio, Study

_Found = TypeVar("_Found")

PREFIX = "/api/v1"
"""Where the API is; another version of it would be beside it."""


def _visitor(request: Request) -> User:
    user = current_visit(request).user
    if user is None:  # the guard lets nobody come so far
        raise HTTPException(401)
    return user


Visitor = Annotated[User, Depends(_visitor)]
# As workshop.levels takes it: a word, or an epsilon.
LevelName = Annotated[str, Query(min_length=1, max_length=64)]


class Routes:
    """Adds a route and declares its role, in one go: one cannot be had without the other.

    Parameters
    ----------
    api : FastAPI
        Where it is added.
    policy : Policy
        Where its role is declared.
    """

    def __init__(self, api: FastAPI, policy: Policy) -> None:
        self._api, self._policy = api, policy

    def __call__(
        self, method: str, path: str, role: Role, *, upload: bool = False, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return what adds a route, for visitors of this role."""
        self._policy.declare(PREFIX + path, role, methods=(method,), upload=upload)
        return self._api.api_route(path, methods=[method], tags=[role.word], **options)


def study_of(studio: Studio, name: str) -> Study:
    """Return the study that an address names; 404 if there is none."""
    return _found(studio.study, name)


def job_of(studio: Studio, name: str) -> Job:
    """Return the job that an address names; 404 if there is none."""
    return _found(studio.job, name)


def release_of(studio: Studio, name: str) -> ReleaseRecord:
    """Return the release that an address names; 404 if there is none."""
    return _found(studio.release, name)


def _found(find: Callable[[str], _Found], name: str) -> _Found:
    try:
        return find(name)
    except InvalidInput as missing:
        raise HTTPException(404, str(missing)) from None


def level_from(given: str) -> str | float:
    """Read a level of an address: a word, or an epsilon."""
    try:
        return float(given)
    except ValueError:
        return given
