"""The process of a release: its fits were named before they are begun, so each is paid for once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.estimators import PrivateCoreset
from shoal.release import Release, load
from shoal.studio.workshop.files import REQUEST
from shoal.studio.workshop.models import centres_model, parameters
from shoal.studio.workshop.store import dumps, now
from shoal.studio.workshop.tasks import Task
from shoal.studio.workshop.values import CORESET_SHARE


def release(task: Task) -> dict[str, Any]:
    """Fit, save and record a release; whatever of it was done before is found, and not done again.

    Parameters
    ----------
    task : Task
        The job.
    """
    request, whole = task.request, task.draft
    epsilon, both = float(request["level"]["epsilon"]), bool(request["coreset"])
    each = epsilon * CORESET_SHARE if both else epsilon
    draft = whole.changed({"delta": whole.delta * CORESET_SHARE}) if both else whole
    folder = task.home / "releases" / task.id
    folder.mkdir(mode=0o700, exist_ok=True)
    centres = folder / "centres"
    if not centres.is_dir():
        model = centres_model(draft, each, request["bounds"], task.budget(request["fits"]["centres"]))
        task.watch(model, 0.0, 0.5 if both else 0.95, "finding groups")
        model.fit(task.table())
        task.tell(0.45 if both else 0.9, "trying how far another fit would be, on made-up rows")
        # Of zones each has its own, and no refits of all of them together are made.
        (model.release_.with_totals() if draft.zones is None else model.release_).save(centres)
    found = load(centres)
    assert isinstance(found, Release)
    if both and not (folder / "coreset").is_dir():
        drawn = task.budget(request["fits"]["coreset"])
        given = parameters(draft, request["bounds"])
        coreset = PrivateCoreset(len(found.sizes), epsilon=each, budget=drawn, **given)
        task.watch(coreset, 0.5, 0.95, "making a coreset")
        coreset.fit(task.table())
        coreset.release_.save(folder / "coreset")
    _add_look(task, folder)
    (folder / REQUEST).write_text(dumps(request), encoding="utf-8")
    budget = task.budget(request["fits"]["centres"])
    record = {
        "title": request["title"],
        "level": request["level"],
        "guarantee": dict(found.certificate.guarantee),
        "by": task.by,
        "approved_by": task.approved_by,
        "dataset": draft.dataset,
        "fits": {name: request["fits"][name] for name in ("centres", "coreset") if name == "centres" or both},
        "spent": float(budget.spent),
        "total": budget.budget.describe(),
        "delta": float(getattr(budget.budget, "delta", 0)),
        "own_delta": whole.delta,
        "demo": task.source.kind == "demo",
        "names": list(found.names),
        "groups": len(found.sizes),
    }
    task.memory.change(
        "INSERT OR IGNORE INTO releases (id, job, study, record, created) VALUES (?, ?, ?, ?, ?)",
        (task.id, task.id, task.study, dumps(record), now()),
    )
    return {"release": task.id}


def _add_look(task: Task, folder: Path) -> None:
    """Keep the synopsis of the look with the release: it was paid for, and may be published too."""
    look = task.home / "looks" / str(task.request["look"])
    if task.request["look"] and look.is_dir() and not (folder / "synopsis").exists():
        (folder / "synopsis").symlink_to(look)
