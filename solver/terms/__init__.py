"""Constraint and cost terms: one file a kind, chosen by `type` through the catalog."""

from unlatch.solver.terms.catalog import COSTS, TERMS
from unlatch.solver.terms.term import Term

__all__ = ["COSTS", "TERMS", "Term"]
