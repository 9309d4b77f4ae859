"""Who someone is, and what a role may do: everything that is not declared is refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from shoal.errors import InvalidInput


class Role(IntEnum):
    """Each role may do what those below it may."""

    PUBLIC = 0
    VIEWER = 1
    CURATOR = 2

    @property
    def word(self) -> str:
        """As people write it."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Role:
        """Read the role of a person: ``curator`` or ``viewer``."""
        for role in (cls.CURATOR, cls.VIEWER):
            if word == role.word:
                return role
        raise InvalidInput(f"a role is 'curator' or 'viewer', not {word!r}")


PUBLIC, VIEWER, CURATOR = Role.PUBLIC, Role.VIEWER, Role.CURATOR


@dataclass(frozen=True)
class User:
    """Someone who is signed in."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Whether this is enough of a role."""
        return self.role >= role


# Who works on a studio without users. No account may have this name.
LOCAL = User("local", CURATOR)


@dataclass(frozen=True)
class Visit:
    """One request or one socket, and who is behind it."""

    user: User | None = None
    # The hash of the session's id, never the id; none for a bearer token and for nobody.
    session: str | None = None
    # What a form must carry; made from the id, which scripts cannot read.
    csrf: str | None = None
    # What files that are sent are kept for: when this session or token ends, they are deleted.
    keeper: str | None = None

    def may(self, role: Role) -> bool:
        """Whether this visit is let in where a role is asked for."""
        return role is PUBLIC or (self.user is not None and self.user.may(role))


NOBODY = Visit()

# Where a guarded request carries its visit.
SCOPE_KEY = "shoal.visit"
