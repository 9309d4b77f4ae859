"""Where random words come from: the operating system, or a seed that makes runs repeatable, not private.

Fair dice and coins are made of them here.
"""

from __future__ import annotations

import operator
import os
import threading
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal._forks import tell_of_forks
from shoal._typing import Booleans, Integers
from shoal.errors import InvalidInput

Words = npt.NDArray[np.uint64]
IntegerLike = int | npt.NDArray[np.integer]

# Integers are below it: they are kept in int64.
LARGEST_BOUND = 1 << 63

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
        self._seed = value
        self._generator = np.random.Philox(value)

    def apart(self, number: int) -> SeededEntropy:
        """Return a stream of its own for one question, whatever was drawn for others.

        Parameters
        ----------
        number : int
            Which question.
        """
        other = SeededEntropy(self._seed)
        other._generator = np.random.Philox(np.random.SeedSequence((self._seed, number)))
        return other

    def of_zone(self, number: int) -> SeededEntropy:
        """Return the entropy of one zone, whose questions have streams of their own too.

        Parameters
        ----------
        number : int
            Which zone.
        """
        return SeededEntropy(int(np.random.SeedSequence((self._seed, number, 1)).generate_state(1)[0]))

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


__all__ = [
    "LARGEST_BOUND",
    "Booleans",
    "IntegerLike",
    "Integers",
    "checked_integers",
    "fair_coins",
    "uniform_below",
]


def uniform_below(entropy: Entropy, bound: IntegerLike, size: int | None = None) -> Integers:
    """Draw integers exactly uniform on {0, ..., bound - 1}.

    Words that would fall in the last, incomplete copy of the range are drawn again: taking the remainder
    alone would favour small values.

    Parameters
    ----------
    entropy : Entropy
    bound : int or integer array
        Positive, below 2**63. An array gives one draw for each of its entries.
    size : int, optional
        How many draws, for a single bound. By default one, of shape ``()``.

    Returns
    -------
    int64 array

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> draws = uniform_below(SeededEntropy(0), 3, 1000)
    >>> sorted(set(draws.tolist()))
    [0, 1, 2]
    """
    bounds = checked_integers("the bound", bound, least=1)
    if bounds.ndim == 0:
        draws = _below_one(entropy, int(bounds), 1 if size is None else size)
        return draws.reshape(()) if size is None else draws
    if size is not None and bounds.shape != (size,):
        raise InvalidInput(f"the bounds have shape {bounds.shape}, but {size} draws were asked for")
    return _below_each(entropy, bounds.ravel().view(np.uint64)).reshape(bounds.shape)


def _below_one(entropy: Entropy, bound: int, size: int) -> Integers:
    if bound == 1:
        return np.zeros(size, dtype=np.int64)
    # Small bounds take a quarter or half of a word each: words are the dearest part of a draw.
    bits = 16 if bound <= 1 << 8 else 32 if bound <= 1 << 24 else 64
    lane = np.dtype(f"u{bits // 8}").type
    draws = _lanes(entropy, size, bits)
    excess = (1 << bits) % bound
    if excess == 0:
        power: Integers = (draws & lane(bound - 1)).astype(np.int64)
        return power
    last_fair = lane((1 << bits) - excess - 1)
    unfair = np.flatnonzero(draws > last_fair)
    while unfair.size:
        draws[unfair] = _lanes(entropy, unfair.size, bits)
        unfair = unfair[draws[unfair] > last_fair]
    # NumPy divides by a constant faster than it takes remainders.
    remainder: Integers = (draws - draws // lane(bound) * lane(bound)).astype(np.int64)
    return remainder


def _below_each(entropy: Entropy, bounds: npt.NDArray[np.uint64]) -> Integers:
    draws = entropy.words(bounds.size)
    # The first 2**64 mod bound words are unfair. They are fewer than bound, so that only words below their
    # bound, which are rare, need that second remainder.
    suspects = np.flatnonzero(draws < bounds)
    while suspects.size:
        excess = (np.uint64(0) - bounds[suspects]) % bounds[suspects]
        suspects = suspects[draws[suspects] < excess]
        draws[suspects] = entropy.words(suspects.size)
    return (draws % bounds).astype(np.int64)


def _lanes(entropy: Entropy, size: int, bits: int) -> npt.NDArray[np.unsignedinteger]:
    per_word = 64 // bits
    return entropy.words(-(-size // per_word)).view(f"u{bits // 8}")[:size]


def fair_coins(entropy: Entropy, size: int) -> Booleans:
    """Toss fair coins, 64 to the word.

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> fair_coins(SeededEntropy(0), 5).dtype
    dtype('bool')
    """
    return np.unpackbits(entropy.words(-(-size // 64)).view(np.uint8), count=size).view(np.bool_)


def checked_integers(name: str, value: IntegerLike, least: int) -> Integers:
    """Return ``value`` as an int64 array once it is known to hold integers from ``least`` to 2**63 - 1.

    Examples
    --------
    >>> checked_integers("the bound", 3, least=1)
    array(3)
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise InvalidInput(f"{name} must be an integer from {least} to 2**63 - 1; got {array.dtype} values")
    if array.size and not least <= int(array.min()) <= int(array.max()) < LARGEST_BOUND:
        # A public number may be shown. Arrays may hold exact losses, of which nothing is said.
        got = f"; got {array}" if array.ndim == 0 else ""
        raise InvalidInput(f"{name} must be an integer from {least} to 2**63 - 1{got}")
    return array.astype(np.int64, copy=False)
