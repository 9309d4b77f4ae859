"""Copies of a ledger: a backup in one file, a restored one, and a move to another place."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shoal.errors import InvalidLedger, LedgerUnavailable
from shoal.ledger.records import PAYLOAD, Draft, Record, check_chain
from shoal.ledger.store import Known, Store

MOVED, ARRIVED, RESTORED = "moved", "arrived", "restored"
"""Kinds of records that copying writes: nothing is spent from a data set that moved."""

_BACKUP = "shoal ledger backup"
_FORMAT = 1

Chain = list[tuple[Record, bytes | None]]


def read_chain(store: Store, dataset: str) -> Chain:
    """Read a data set as a whole, with what lies beside its records, and check it.

    Parameters
    ----------
    store : Store
        Where it is.
    dataset : str
        Its name.
    """
    head = store.head(dataset)
    chain = list(store.payloads(dataset))
    if not chain:
        raise InvalidLedger(no_such_dataset(store, dataset))
    _check(chain)
    last = chain[-1][0]
    if last.number < head[0] or (last.number == head[0] and last.hash != head[1]):
        raise InvalidLedger(
            f"data set {dataset!r} ends with record {last.number}, and the ledger knows of record {head[0]}: "
            "its tail was cut or changed"
        )
    return chain


def no_such_dataset(store: Store, dataset: str) -> str:
    """Say that a data set is not there, and which are."""
    there = ", ".join(map(repr, store.datasets())) or "none yet"
    return f"the ledger {store.shown} has no data set {dataset!r}; it has {there}"


def backup(store: Store, path: str | os.PathLike[str]) -> dict[str, Known]:
    """Write all data sets to a new file, which its owner alone can read; return their heads.

    Parameters
    ----------
    store : Store
        The ledger.
    path : path
        A file that does not exist.
    """
    heads: dict[str, Known] = {}
    lines = [json.dumps({"what": _BACKUP, "format": _FORMAT})]
    for dataset in store.datasets():
        chain = read_chain(store, dataset)
        heads[dataset] = (chain[-1][0].number, chain[-1][0].hash)
        lines += [_line(record, payload) for record, payload in chain]
    lines.append(json.dumps({"heads": heads}))
    _write_new(Path(path), "\n".join(lines) + "\n")
    return heads


def restore(path: str | os.PathLike[str], store: Store) -> tuple[str, ...]:
    """Write the data sets of a backup into a ledger that has none of their names; return the names.

    What was spent after the backup was made is not in it: verify the restored ledger with every certificate
    that was issued since.

    Parameters
    ----------
    path : path
        A backup.
    store : Store
        The ledger, which is made if it is not there.
    """
    chains = _read_backup(Path(path))
    store.create()
    if there := set(chains) & set(store.datasets()):
        raise InvalidLedger(f"{store.shown} has {sorted(there)} already; restore into an empty ledger")
    for dataset, chain in chains.items():
        store.copy_in(dataset, chain)
        _append(store, chain, Draft(RESTORED, {"from_record": chain[-1][0].number}))
    return tuple(chains)


def migrate(store: Store, other: Store) -> tuple[str, ...]:
    """Move all data sets to another ledger; from then on nothing can be spent from the old one.

    If it breaks off, do it again: what has moved is not moved twice.

    Parameters
    ----------
    store, other : Store
        The old ledger, and the new one, which is made if it is not there.
    """
    other.create()
    names = store.datasets()
    for dataset in names:
        chain = read_chain(store, dataset)
        if chain[-1][0].kind != MOVED:
            # First, so that there is no moment at which both could be spent from.
            _append(store, chain, Draft(MOVED, {"to": other.shown}))
            chain = read_chain(store, dataset)
        if dataset in other.datasets():
            there = read_chain(other, dataset)
            number = chain[-1][0].number
            if len(there) < number or there[number - 1][0].hash != chain[-1][0].hash:
                raise InvalidLedger(f"{other.shown} has another data set {dataset!r}; nothing was changed")
            chain = there
        else:
            other.copy_in(dataset, chain)
        if chain[-1][0].kind == MOVED:
            _append(other, chain, Draft(ARRIVED, {"from": store.shown}))
    return names


def _append(store: Store, chain: Chain, draft: Draft) -> None:
    last = chain[-1][0]

    def decide(news: Sequence[Record], _: str) -> Draft:
        if news:
            raise LedgerUnavailable(
                f"data set {last.dataset!r} was written to while it was copied: stop its fits, do it again"
            )
        return draft

    key = f"{draft.kind}:{secrets.token_hex(8)}"
    store.append(last.dataset, key, decide, lambda: (last.number, last.hash))


def _line(record: Record, payload: bytes | None) -> str:
    beside = None if payload is None else base64.b64encode(payload).decode()
    return json.dumps({**asdict(record), "payload": beside})


def _read_backup(path: Path) -> dict[str, Chain]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        first, *records, last = lines
        heads = {name: (int(number), str(found)) for name, (number, found) in last["heads"].items()}
        if first.get("what") != _BACKUP or first.get("format") != _FORMAT:
            raise InvalidLedger(f"{path} is no backup of a ledger that this Shoal can read")
        chains: dict[str, Chain] = {name: [] for name in heads}
        for line in records:
            beside = line.pop("payload")
            payload = None if beside is None else base64.b64decode(beside)
            chains[line["dataset"]].append((Record(**line), payload))
    except OSError as error:
        raise InvalidLedger(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise InvalidLedger(f"{path} is no backup of a ledger, or it was cut short") from None
    for name, chain in chains.items():
        _check(chain)
        if not chain or (chain[-1][0].number, chain[-1][0].hash) != heads[name]:
            raise InvalidLedger(f"{path} lacks records of data set {name!r}")
    return chains


def _check(chain: Chain) -> None:
    check_chain(record for record, _ in chain)
    for record, payload in chain:
        said: Any = record.content.get(PAYLOAD)
        if said != (None if payload is None else hashlib.sha256(payload).hexdigest()):
            raise InvalidLedger(
                f"what lies beside record {record.number} of data set {record.dataset!r} is not as it was "
                "written: its hash does not fit"
            )


def _write_new(path: Path, text: str) -> None:
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InvalidLedger(f"a backup cannot be written to {path}: {error.strerror}") from None
