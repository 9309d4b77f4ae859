"""Where random words come from: the operating system, or a seed that makes runs repeatable, not private."""

from __future__ import annotations

import operator
import os
import threading
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal._forks import tell_of_forks
from shoal.errors import InvalidInput

__all__ = ["Entropy", "SeededEntropy", "SystemEntropy", "public_seed"]

Words = npt.NDArray[np.uint64]

# One system call fills this many words, so that a run of small draws does not pay one call each.
BUFFER_WORDS = 4096


class Entropy(Protocol):
    """A source of independent uniform 64-bit words."""

    @property
    def private(self) -> bool:
        """Whether nobody can predict the words: only then is noise made from them private."""
        ...

    def words(self, n: int) -> Words:
        """Return ``n`` fresh words in an array of its own."""
        ...

    def describe(self) -> str:
        """Return one line for a certificate."""
        ...


class _Buffer(threading.local):
    """Words read ahead. One per thread, so that no word is handed out twice and no lock is needed."""

    position = 0
    words: Words = np.empty(0, dtype=np.uint64)


class SystemEntropy:
    """Words from the operating system's cryptographic generator.

    Buffers are per thread, and dropped after a fork: a child that went on with its parent's buffer would add
    the same noise to its own release, and the difference of the two would show the data.

    Examples
    --------
    >>> entropy = SystemEntropy()
    >>> entropy.private
    True
    >>> bool((entropy.words(4) != entropy.words(4)).all())
    True
    """

    def __init__(self) -> None:
        self._forked()
        tell_of_forks(self)

    def _forked(self) -> None:
        self._buffer = _Buffer()

    def __reduce__(self) -> tuple[type[SystemEntropy], tuple[()]]:
        # A copy sent to another process starts with an empty buffer, for the reason above.
        return (SystemEntropy, ())

    @property
    def private(self) -> bool:
        """Always true."""
        return True

    def words(self, n: int) -> Words:
        """Return ``n`` words never handed out before."""
        if n >= BUFFER_WORDS:
            return _system_words(n)
        buffer = self._buffer
        if buffer.position + n > buffer.words.size:
            buffer.words, buffer.position = _system_words(BUFFER_WORDS), 0
        start, buffer.position = buffer.position, buffer.position + n
        return buffer.words[start : buffer.position].copy()

    def describe(self) -> str:
        """Return one line for a certificate."""
        return "operating system generator"


class SeededEntropy:
    """The same words for the same seed: for tests and papers, never for a release.

    Parameters
    ----------
    seed : int
        Not negative.

    Examples
    --------
    >>> bool((SeededEntropy(7).words(3) == SeededEntropy(7).words(3)).all())
    True
    >>> SeededEntropy(7).describe()
    'seeded: not private'
    """

    def __init__(self, seed: int) -> None:
        try:
            value = operator.index(seed)
        except TypeError:
            raise InvalidInput(f"the seed must be an integer that is not negative; got {seed!r}") from None
        if value < 0:
            raise InvalidInput(f"the seed must be an integer that is not negative; got {seed!r}")
        self._generator = np.random.Philox(value)

    @property
    def private(self) -> bool:
        """Always false: who knows the seed knows the noise."""
        return False

    def words(self, n: int) -> Words:
        """Return the next ``n`` words of the seed's stream."""
        return np.asarray(self._generator.random_raw(n), dtype=np.uint64)

    def describe(self) -> str:
        """Return one line for a certificate."""
        return "seeded: not private"


def public_seed(entropy: Entropy) -> int:
    """Draw a 128-bit seed for randomness that may be published (projections, shifts, starting centres).

    It comes out of the same source as the noise but shares no word with it, so that publishing the seed says
    nothing about the noise.

    Examples
    --------
    >>> 0 <= public_seed(SystemEntropy()) < 2**128
    True
    """
    high, low = (int(word) for word in entropy.words(2))
    return high << 64 | low


def _system_words(n: int) -> Words:
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64).copy()
