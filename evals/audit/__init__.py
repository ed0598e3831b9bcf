"""Audits: what is left of a printed number, given the files behind it."""

from evals.audit.audit import audit
from evals.audit.evidence import Evidence
from evals.audit.printed import Printed
from evals.audit.result import Audit, Cause
from evals.audit.selection import Selection, selection

__all__ = ["Audit", "Cause", "Evidence", "Printed", "Selection", "audit", "selection"]
