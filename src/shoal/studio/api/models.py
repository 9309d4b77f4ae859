"""What the API takes and gives. Nothing here can hold a row, nor a value that is not for release."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field

from shoal.errors import InvalidInput
from shoal.studio.workshop import Download, Job, Level, ReleaseRecord, Study

# Characters of a name, title or path, and entries of a list: more than any table needs.
_NAME, _PATH, _ENTRIES = 200, 4096, 2000

Name = Annotated[str, Field(min_length=1, max_length=_NAME)]
Wanted = Annotated[str, Field(min_length=1, max_length=64)] | Annotated[float, Field(gt=0, le=1000)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=_PATH)


class Declarations(_Given):
    """What a curator declares of a table; what is left out stays as it was."""

    title: Name | None = None
    columns: list[Name] | None = Field(None, max_length=_ENTRIES)
    types: dict[Name, Literal["number", "boolean", "time"]] | None = None
    bounds: Literal["latlon", "estimate"] | dict[Name, tuple[float | str, float | str]] | None = None
    levels: dict[Name, list[str | float | bool]] | None = None
    unit: Name | None = None
    max_rows: int | None = Field(None, ge=1)
    k: Literal["auto"] | Annotated[int, Field(ge=1, le=10_000)] | None = None
    ledger: str | None = None
    dataset: str | None = Field(None, max_length=_NAME)
    delta: float | None = Field(None, ge=0, lt=1)
    n_rows: int | None = Field(None, ge=1)
    header: bool | None = None
    preview_epsilon: float | None = Field(None, gt=0, le=1)
    zones: dict[str, Any] | None = None

    def given(self) -> dict[str, Any]:
        """Only what was said; null takes back what need not be declared."""
        said = self.model_dump(exclude_unset=True)
        for name, value in said.items():
            if value is None and name not in ("title", "bounds", "unit", "n_rows", "zones"):
                raise InvalidInput(f"{name} is null; give a value, or leave it out")
        return said


class NewStudy(Declarations):
    """A table of the studio's machine, by its path, and what is declared of it."""

    path: Annotated[str, Field(min_length=1, max_length=_PATH)]


class NewDataset(_Given):
    """A budget, which cannot be raised later."""

    name: Name
    epsilon: float = Field(gt=0, le=1000)
    delta: float = Field(0.0, ge=0, lt=1)
    unit: Name | None = None
    neighbours: Literal["add-remove", "replace"] = "add-remove"


class Prepare(_Given):
    """Which levels to try; all that have names, if not given."""

    levels: list[Wanted] | None = Field(None, min_length=1, max_length=32)


class ReleaseAt(_Given):
    """At which level to release."""

    level: Wanted
    coreset: bool = False


class Refusal(_Given):
    """A word to whoever asked."""

    why: str = Field("", max_length=1000)


class Me(BaseModel):
    """Who asks."""

    name: str
    role: str


class StudyInfo(BaseModel):
    """A study. `release_key` is the idempotency key of its next release, the same in tabs and programs."""

    id: str
    title: str
    by: str
    created: str
    source: str
    declared: dict[str, Any]
    missing: list[str]
    summary: str
    release_key: str

    @classmethod
    def of(cls, study: Study) -> StudyInfo:
        """Tell of a study; of its source, the name alone."""
        told = study.to_dict()
        declared = {**told["draft"], "ledger": _without_password(told["draft"]["ledger"])}
        return cls(
            source=told["source"]["name"],
            declared=declared,
            release_key=study.token,
            **{name: told[name] for name in ("id", "title", "by", "created", "missing", "summary")},
        )


class JobInfo(BaseModel):
    """Long work, as it is now."""

    id: str
    kind: str
    study: str
    state: str
    progress: float
    message: str
    by: str
    approved_by: str | None
    created: str
    updated: str
    level: str | None
    release: str | None

    @classmethod
    def of(cls, job: Job) -> JobInfo:
        """Tell of a job; not of where its table lies."""
        level = job.request.get("level", {}).get("name") if job.kind == "release" else None
        release = job.result.get("release", job.result.get("id")) if job.kind == "release" else None
        told = {name: getattr(job, name) for name in cls.model_fields if name not in ("level", "release")}
        return cls(**told, level=level, release=release)


class ReleaseInfo(BaseModel):
    """A release; all of it may be published."""

    id: str
    study: str
    title: str
    level: Level
    guarantee: dict[str, str]
    by: str
    approved_by: str | None
    created: str
    dataset: str
    names: list[str]
    groups: int
    shared: str | None
    files: list[Download]

    @classmethod
    def of(cls, record: ReleaseRecord) -> ReleaseInfo:
        """Tell of a release."""
        told = {name: getattr(record, name) for name in cls.model_fields if name not in ("files", "names")}
        return cls(**told, names=list(record.names), files=list(record.downloads()))


class Code(BaseModel):
    """The same step elsewhere."""

    python: str
    command: str


class Problem(BaseModel):
    """What went wrong: what was given, what is wanted, what to do. Never anything of a row."""

    status: int
    detail: str
    error: str | None = None


def _without_password(ledger: str) -> str:
    if "://" not in ledger:
        return ledger
    parts = urlsplit(ledger)
    host = parts.netloc.rsplit("@", 1)[-1]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
