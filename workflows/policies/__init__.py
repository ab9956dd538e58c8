"""Policies, which decide the actions of the arms in `unlatch evaluate`, by their spec.

To add a kind: one file here with a function that makes the policy, one catalog line, one test.
"""
