"""What can go wrong while a ledger is written to, done on purpose."""
