"""Budgets as exact values, charges, and the accountant that refuses before the work."""

from shoal.accounting.accountant import Accountant
from shoal.accounting.allowance import Allowance
from shoal.accounting.budget import (
    ZCDP,
    Approx,
    Budget,
    NoGuarantee,
    Pure,
    budget_of,
    equal,
    exact,
    growing,
    portion,
    round_down,
    weighted,
)
from shoal.accounting.conversion import delta_of, epsilon_of, rho_of
from shoal.accounting.events import Charge
from shoal.accounting.paths import PathSums
from shoal.accounting.zones import ZoneAllowance, zones_budget, zones_hit

__all__ = [
    "ZCDP",
    "Accountant",
    "Allowance",
    "Approx",
    "Budget",
    "Charge",
    "NoGuarantee",
    "PathSums",
    "Pure",
    "ZoneAllowance",
    "budget_of",
    "delta_of",
    "epsilon_of",
    "equal",
    "exact",
    "growing",
    "portion",
    "rho_of",
    "round_down",
    "weighted",
    "zones_budget",
    "zones_hit",
]
