"""Who decides what the arms do in `unlatch evaluate`: a policy by its spec.

To add a kind: one file here with a function that makes the policy, one catalog line, one test.
"""
