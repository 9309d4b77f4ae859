import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from shoal.errors import InvalidInput
from shoal.mechanisms import SeededEntropy, SystemEntropy, public_seed


def test_seeded_words_repeat_with_their_seed_and_only_with_it():
    assert np.array_equal(SeededEntropy(5).words(1000), SeededEntropy(5).words(1000))
    assert not np.any(SeededEntropy(5).words(1000) == SeededEntropy(6).words(1000))


def test_seeded_words_do_not_depend_on_how_they_are_asked_for():
    entropy = SeededEntropy(1)
    parts = [entropy.words(n) for n in (3, 1, 0, 6)]
    assert np.array_equal(np.concatenate(parts), SeededEntropy(1).words(10))


def test_only_the_system_is_private():
    assert SystemEntropy().private
    assert not SeededEntropy(0).private
    assert "not private" in SeededEntropy(0).describe()
    assert "not private" not in SystemEntropy().describe()


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(0)])
def test_privacy_cannot_be_claimed_by_assignment(entropy):
    with pytest.raises(AttributeError):
        entropy.private = not entropy.private


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None])
def test_a_seed_that_is_not_one_is_refused(seed):
    with pytest.raises(InvalidInput, match="seed"):
        SeededEntropy(seed)


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(11)])
def test_words_are_fresh_arrays_of_64_bits(entropy):
    # A caller may write into what it was given without changing what comes next.
    for n in (0, 1, 7, 4095, 4096, 10_000):
        words = entropy.words(n)
        assert words.dtype == np.uint64
        assert words.shape == (n,)
        words[:] = 0
    assert entropy.words(5).all()


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(3)])
def test_no_word_comes_twice(entropy):
    # Sizes around the buffer's, which is where a wrong offset would repeat or leave out words.
    sizes = [1, 2, 4093, 4095, 4096, 4097, 5, 4094, 1] + [37] * 500
    words = np.concatenate([entropy.words(n) for n in sizes])
    assert len(words) == sum(sizes)
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(3)])
def test_every_bit_is_fair(entropy):
    bits = np.unpackbits(entropy.words(100_000).view(np.uint8).reshape(-1, 8), axis=1)
    # 64 means of 100,000 fair coins: eight standard errors, since one of the sources cannot be seeded.
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 8 * 0.5 / np.sqrt(100_000)


def test_threads_never_share_a_word():
    entropy = SystemEntropy()
    found: list[np.ndarray] = []

    def draw():
        found.append(np.concatenate([entropy.words(3) for _ in range(10_000)]))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    usual = sys.getswitchinterval()
    # Threads then take turns in the middle of a draw, where a shared buffer would hand out words twice.
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    words = np.concatenate(found)
    assert len(words) == 4 * 10_000 * 3
    assert len(np.unique(words)) == len(words)


def test_threads_read_ahead_each_for_itself(monkeypatch):
    # The interpreter's lock can hide a race on a shared buffer, so this looks for the buffer and not for
    # the race.
    reads: list[int] = []

    def counted(n: int) -> bytes:
        reads.append(threading.get_ident())
        return bytes(range(256)) * (n // 256)

    monkeypatch.setattr(os, "urandom", counted)
    entropy = SystemEntropy()
    entropy.words(1)
    entropy.words(1)
    other = threading.Thread(target=entropy.words, args=(1,))
    other.start()
    other.join()
    entropy.words(1)
    assert reads == [threading.get_ident(), other.ident]


FORK = """
import os, sys
import numpy as np
from shoal.mechanisms import SystemEntropy
number = os.getpid()
os.getpid = lambda: number  # the numbers of processes recur
entropy = SystemEntropy()
entropy.words(1)
ours, theirs = os.pipe()
if os.fork() == 0:
    os.write(theirs, entropy.words(100).tobytes())
    os._exit(0)
os.wait()
child = np.frombuffer(os.read(ours, 800), dtype=np.uint64)
assert child.size == 100
sys.exit(int(np.isin(child, entropy.words(1000)).any()))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_draws_its_own_words():
    # In a process of its own: forking one that has threads is a warning, and warnings are errors here.
    assert subprocess.run([sys.executable, "-c", FORK], check=False).returncode == 0


def test_a_copy_sent_elsewhere_draws_its_own_words():
    entropy = SystemEntropy()
    entropy.words(1)
    copy = pickle.loads(pickle.dumps(entropy))
    assert not np.isin(copy.words(100), entropy.words(1000)).any()


def test_public_seed_uses_all_of_its_128_bits():
    assert public_seed(SeededEntropy(2)) == public_seed(SeededEntropy(2))
    entropy = SeededEntropy(2)
    seeds = [public_seed(entropy) for _ in range(200)]
    assert len(set(seeds)) == 200
    ever_one = ever_zero = 0
    for seed in seeds:
        assert 0 <= seed < 2**128
        ever_one |= seed
        ever_zero |= ~seed & (2**128 - 1)
    assert ever_one == ever_zero == 2**128 - 1


def test_public_seed_takes_its_words_out_of_the_stream():
    entropy = SeededEntropy(2)
    first, second = SeededEntropy(2).words(2).tolist()
    assert public_seed(entropy) == first << 64 | second
    assert np.array_equal(entropy.words(3), SeededEntropy(2).words(5)[2:])
