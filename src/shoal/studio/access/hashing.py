"""Random secrets, of which only hashes are kept, and passwords, which are hashed slowly with argon2id."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from shoal.errors import InvalidInput

# Bytes of a session id, token or link: 256 bits cannot be guessed, so that a fast hash of them is enough.
_BYTES = 32
# Characters. Long rather than odd: more than a guesser reaches under our rate limit (NIST SP 800-63B asks for
# 8 at least, and for 15 where there is no second factor).
LEAST_PASSWORD = 12
# Characters; more would only let strangers make the server work.
MOST_PASSWORD = 512

# argon2-cffi's defaults are RFC 9106's second choice: argon2id, 64 MiB, 3 passes, 4 lanes.
_HASHER = PasswordHasher()


def new_secret() -> str:
    """Draw a secret from the operating system's randomness."""
    return secrets.token_urlsafe(_BYTES)


def hash_of(secret: str) -> str:
    """Hash a random secret: this is what is kept of it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_of(session_id: str) -> str:
    """Make what a form must carry, from a cookie that other origins cannot read."""
    return hmac.new(session_id.encode(), b"shoal form", hashlib.sha256).hexdigest()


def same(given: str, wanted: str) -> bool:
    """Compare without telling how far two texts agree."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def check_password(password: str, name: str) -> None:
    """Refuse what is too short, too long, or the name itself."""
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise InvalidInput(
            f"a password has {LEAST_PASSWORD} to {MOST_PASSWORD} characters; this one has {len(password)}. "
            "Four or five words that do not belong together do well"
        )
    if (len(name) > 2 and name.lower() in password.lower()) or len(set(password)) < 5:
        raise InvalidInput("a password is not made of the name, nor of fewer than five different characters")


def hash_password(password: str) -> str:
    """Hash slowly, with a salt of its own."""
    return _HASHER.hash(password)


# Checked where there is no such name, so that a stranger cannot tell by the clock which names there are.
_NOBODYS = _HASHER.hash(new_secret())


def verify_password(kept: str | None, password: str) -> bool:
    """Whether a password is the one; as slow where there is no account."""
    try:
        found = _HASHER.verify(kept or _NOBODYS, password[: MOST_PASSWORD + 1])
    except (VerificationError, InvalidHashError):
        return False
    return found and kept is not None


def is_stale(kept: str) -> bool:
    """Whether a hash was made with other parameters than those of today."""
    return _HASHER.check_needs_rehash(kept)
