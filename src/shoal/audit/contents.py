"""The contents audit: a model that may be published holds no row, no label and no exact count."""

from __future__ import annotations

import json
import pickle
import pickletools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.audit.observations import Fit
from shoal.domain import STEPS

Array = npt.NDArray[Any]

# Of small numbers there are many; they say nothing.
SMALL = 256
# What counts as a number of a pickle: its other opcodes count its own parts.
_NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
# A number of a text stands by itself: a hash has digits too.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
# A number of rows that is nobody's parameter, and odd values.
N_ROWS = 1_031


@dataclass(frozen=True)
class ContentsAudit:
    """What was found in a model that should not be there.

    Parameters
    ----------
    found : tuple of str
        In words; empty if nothing was.
    n_bytes : int
        Size of the pickle.
    """

    found: tuple[str, ...]
    n_bytes: int

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.found

    def __str__(self) -> str:
        if self.passed:
            return f"clean: nothing of the rows in {self.n_bytes} bytes of pickle, nor in its texts"
        return "holds " + "; ".join(self.found)


def audit_contents(model: Any, rows: Any) -> ContentsAudit:
    """Search a fitted model's pickle, texts and certificate for rows, labels, and exact counts and means.

    Parameters
    ----------
    model : fitted model
        Anything that can be pickled.
    rows : ndarray of shape (n_rows, n_columns)
        What it was fitted on: of odd values and number, so that nothing agrees by chance.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> rows = odd_rows(2)
    >>> model = DPLloyd(2, epsilon=5.0, bounds=(-1, 1), max_iter=1).fit(rows)
    >>> audit_contents(model, rows).passed
    True
    >>> model.labels_ = model.predict(rows)
    >>> print(audit_contents(model, rows))
    holds an exact label of every row (int32); an array of as many entries as there are rows...
    """
    X = np.asarray(rows, dtype=np.float64)
    blob = pickle.dumps(model)
    exact = _exact(model, X)
    found = [
        *_rows_in(blob, X, model),
        *_labels_in(blob, exact),
        *_lengths_in(model, len(X)),
        *_numbers_in(blob, exact, model),
        *_texts_in(model, exact, X),
    ]
    return ContentsAudit(tuple(dict.fromkeys(found)), len(blob))


def odd_rows(n_columns: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """Make rows in [-1, 1] of values that nobody else has."""
    rng = np.random.default_rng(seed)
    centres = rng.choice([-0.6, 0.6], (N_ROWS, 1))
    return np.clip(centres + rng.normal(0, 0.15, (N_ROWS, n_columns)), -0.987654, 0.987654)


@dataclass(frozen=True)
class _Exact:
    """What a model must not know: the table's own labels, counts and means around its centres."""

    n: int
    labels: Array | None
    counts: Array
    means: Array


def _exact(model: Any, X: Array) -> _Exact:
    centres = getattr(model, "cluster_centers_", None)
    if centres is None or np.shape(centres)[1:] != X.shape[1:]:
        return _Exact(len(X), None, np.empty(0, np.int64), np.empty(0))
    labels = model.predict(X) if hasattr(model, "predict") else _nearest(X, np.asarray(centres))
    counts = np.bincount(labels, minlength=len(centres))
    means = np.concatenate([X[labels == k].mean(axis=0) for k in np.flatnonzero(counts)])
    return _Exact(len(X), np.asarray(labels), counts, means)


def _nearest(X: Array, centres: Array) -> Array:
    return np.asarray(((X[:, np.newaxis] - centres) ** 2).sum(axis=2).argmin(axis=1))


def _rows_in(blob: bytes, X: Array, model: Any) -> Iterator[str]:
    sample = X[:: max(1, len(X) // 200)].ravel()
    for dtype in (">f8", "<f8"):
        if any(value.tobytes() in blob for value in sample.astype(dtype)):
            yield "a value of a row (float64)"
    # Short numbers agree by chance with public points of the lattice; two in a row do not.
    scaled = _on_lattice(model, X)
    short = {
        "float32": X.astype("<f4"),
        "scaled, float32": scaled.astype("<f4"),
        "scaled, float64": scaled.astype("<f8"),
        "lattice steps, int32": np.rint(scaled * STEPS).astype("<i4"),
        "lattice steps, int64": np.rint(scaled * STEPS).astype("<i8"),
    }
    for name, values in short.items():
        if any(pair.tobytes() in blob for pair in _pairs(values)):
            yield f"a row ({name})"


def _pairs(values: Array) -> Iterator[Array]:
    """Give neighbours that would lie side by side, row by row or column by column; zeros are everywhere."""
    both = [values[:-1].ravel(), values.T[:, :-1].ravel()]
    nxt = [np.roll(values, -1, axis=1)[:-1].ravel(), values.T[:, 1:].ravel()]
    for one, other in zip(both, nxt, strict=True):
        pairs = np.stack([one, other], axis=1)
        yield from pairs[(pairs != 0).all(axis=1)]


def _on_lattice(model: Any, X: Array) -> Array:
    domain = getattr(getattr(model, "release_", None), "domain", None)
    return X if domain is None else domain.encode(list(X.T)).columns.T.astype(np.float64)


def _labels_in(blob: bytes, exact: _Exact) -> Iterator[str]:
    if exact.labels is None or len(np.unique(exact.labels)) < 2:
        return
    for dtype in ("i1", "i2", "<i4", "<i8", "<f8"):
        if exact.labels.astype(dtype)[: exact.n // 2].tobytes() in blob:
            yield f"an exact label of every row ({np.dtype(dtype).name})"


def _lengths_in(model: Any, n: int) -> Iterator[str]:
    for path, value in _walk("model", model, {}):
        if n in (np.shape(value) if isinstance(value, np.ndarray) else (len(value),)):
            yield f"an array of as many entries as there are rows, {path}"


def _walk(path: str, value: Any, seen: dict[int, Any]) -> Iterator[tuple[str, Any]]:
    if id(value) in seen or isinstance(value, str | bytes | type):
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, list | tuple | set | frozenset | dict):
        yield path, value
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _walk(f"{path}[{key!r}]", inner, seen)
    else:
        for name, inner in getattr(value, "__dict__", {}).items():
            yield from _walk(f"{path}.{name}", inner, seen)


def _numbers_in(blob: bytes, exact: _Exact, model: Any) -> Iterator[str]:
    public = {*_integers(pickle.dumps(_parameters(model))), *_released(model)}
    held = set(_integers(blob)) - public
    if exact.n in held or float(exact.n) in held:
        yield f"the exact number of rows, {exact.n}"
    for count in exact.counts[exact.counts > SMALL]:
        if float(count) in public:
            continue
        as_float = np.float64(count).astype("<f8").tobytes(), np.int64(count).astype("<i8").tobytes()
        if int(count) in held or any(code in blob for code in as_float):
            yield f"the exact size of a group, {count}"
    for mean in exact.means.astype("<f8"):
        if mean.tobytes() in blob:
            yield "the exact mean of a group"


def _integers(blob: bytes) -> Iterator[float]:
    for opcode, argument, _ in pickletools.genops(blob):
        if opcode.name in _NUMBERS and isinstance(argument, int | float):
            yield argument


def _released(model: Any) -> set[float]:
    """Return the noisy numbers that were paid for: integer noise may be zero, which is the law's affair."""
    release = getattr(model, "release_", None)
    arrays = [getattr(model, "cluster_sizes_", ()), getattr(release, "sizes", ())]
    transcripts = [part.transcript for part in getattr(release, "parts", ())]
    transcripts += [getattr(release, "transcript", None), getattr(model, "transcript_", None)]
    for transcript in transcripts:
        for entry in getattr(transcript, "entries", ()):
            arrays.append(getattr(entry.answer, "counts", ()))
    return {float(value) for array in arrays for value in np.ravel(array)}


def _parameters(model: Any) -> Any:
    return model.get_params(deep=False) if hasattr(model, "get_params") else {}


def _texts_in(model: Any, exact: _Exact, X: Array) -> Iterator[str]:
    texts = {"repr": repr(model), "str": str(model)}
    for name in ("certificate_", "release_"):
        if hasattr(model, name):
            part = getattr(model, name)
            texts[name] = str(part) + repr(part)
            if hasattr(part, "to_dict"):
                texts[f"JSON of {name}"] = json.dumps(part.to_dict(), default=str)
    paid = _released(model)
    secrets = {str(exact.n): "the exact number of rows"}
    secrets |= {str(c): "the exact size of a group" for c in exact.counts[exact.counts > SMALL]}
    secrets = {secret: what for secret, what in secrets.items() if float(secret) not in paid}
    values = {repr(float(v)) for v in X[:: max(1, len(X) // 200)].ravel()}
    for where, text in texts.items():
        words = set(_NUMBER.findall(text))
        yield from (f"{what} in its {where}" for secret, what in secrets.items() if secret in words)
        if words & values:
            yield f"a value of a row in its {where}"


def audit_model_contents(estimator: Any, n_columns: int = 2, seed: int | None = None) -> ContentsAudit:
    """Fit an estimator on odd rows and search what it holds.

    An exact number may come up by chance, as a noisy one or among others that have nothing to do with it. So
    other rows are tried as well, and what is not found again was chance: two fits of three must hold it.
    """
    seen: Counter[str] = Counter()
    for i in range(3):
        rows = odd_rows(n_columns, seed=i)
        found = audit_contents(Fit(estimator).quietly(rows.copy(), None if seed is None else seed + i), rows)
        kinds = {_kind(what): what for what in found.found}
        seen.update(kinds.keys())
        if again := tuple(what for kind, what in kinds.items() if seen[kind] > 1):
            return replace(found, found=again)
        if i and not seen:
            break
    return replace(found, found=())


def _kind(what: str) -> str:
    return re.sub(r"\d+", "", what)
