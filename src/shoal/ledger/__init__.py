"""Records that survive: an append-only chain of hashes for each data set, in SQLite or PostgreSQL.

This layer keeps records and knows nothing of budgets; `shoal.accounting` says what they mean.
"""

from shoal.ledger.records import GENESIS, Draft, Record, check_chain
from shoal.ledger.store import Store, open_store
from shoal.ledger.transfer import backup, migrate, restore

__all__ = [
    "GENESIS",
    "Draft",
    "Record",
    "Store",
    "backup",
    "check_chain",
    "migrate",
    "open_store",
    "restore",
]
