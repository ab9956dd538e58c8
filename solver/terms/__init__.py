"""Constraint and cost terms: one file a kind, chosen by `type` through the catalog."""

from solver.terms.catalog import COSTS, TERMS
from solver.terms.term import Term

__all__ = ["COSTS", "TERMS", "Term"]
