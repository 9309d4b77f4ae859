"""Tests that try to catch a mechanism, ours or anybody's, losing more privacy than it claims."""

from shoal.audit.canaries import CANARIES, Canary, canary
from shoal.audit.contents import ContentsAudit, audit_contents
from shoal.audit.distinguish import Audit, audit
from shoal.audit.exact import ExactLoss, audit_laws_exactly
from shoal.audit.laws import LawAudit, audit_law
from shoal.audit.pairs import pair_loss
from shoal.audit.replay import ReplayAudit, audit_replay, replays
from shoal.audit.report import Finding, Report
from shoal.audit.suite import audit_algorithm, audit_all

__all__ = [
    "CANARIES",
    "Audit",
    "Canary",
    "ContentsAudit",
    "ExactLoss",
    "Finding",
    "LawAudit",
    "ReplayAudit",
    "Report",
    "audit",
    "audit_algorithm",
    "audit_all",
    "audit_contents",
    "audit_law",
    "audit_laws_exactly",
    "audit_replay",
    "canary",
    "pair_loss",
    "replays",
]
