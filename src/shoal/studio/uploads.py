"""The rule for files that were sent: they go when the session or token ends, or their study is closed."""

from __future__ import annotations

from shoal.studio.access.sessions import Sessions
from shoal.studio.access.tokens import Tokens
from shoal.studio.workshop import Studio


def forget_ended(studio: Studio, sessions: Sessions, tokens: Tokens) -> int:
    """Delete what was sent in sessions and by tokens that have ended; return how many studies were closed.

    A file that a release needs which is under way, or awaits approval, stays until that is over.
    """
    rows = studio.memory.all(
        "SELECT DISTINCT session FROM studies WHERE closed IS NULL AND session IS NOT NULL"
    )
    keepers = [str(row["session"]) for row in rows]
    ended = [keeper for keeper in keepers if not sessions.alive(keeper) and not tokens.alive(keeper)]
    return sum(studio.forget_uploads(keeper) for keeper in ended)
