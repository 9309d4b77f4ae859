"""An answer as bytes and back, exactly: what a ledger keeps so that a fit can be resumed."""

from __future__ import annotations

import io
import json
from typing import Any, TypeVar

import numpy as np

from shoal.errors import InvalidLedger, InvalidRelease
from shoal.queries.gate.codec import Arrays, from_plain, plain
from shoal.queries.questions import Question

A = TypeVar("A")

_TEXT = "answer"


def pack(answer: Any) -> bytes:
    """Write an answer: it is noisy already, and nothing else goes with it.

    Parameters
    ----------
    answer : object
        As a question has given it.
    """
    arrays: Arrays = {}
    text = json.dumps(plain(answer, arrays)).encode()
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{_TEXT: np.frombuffer(text, dtype=np.uint8)}, **arrays)
    return file.getvalue()


def unpack(question: Question[Any, Any, A], data: bytes) -> A:
    """Read an answer to a question back, or say that it is none.

    Parameters
    ----------
    question : Question
        What was asked.
    data : bytes
        As from :func:`pack`. Nothing in it is ever unpickled.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        found: A = from_plain(question.answers, json.loads(arrays.pop(_TEXT).tobytes()), arrays)
    except (ValueError, OSError, EOFError, KeyError, InvalidRelease):
        raise InvalidLedger(f"the stored answer to {question.describe()} cannot be read") from None
    return found
