"""Public cells; every row is in one."""
