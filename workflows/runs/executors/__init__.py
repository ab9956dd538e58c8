"""Who makes the episodes of a run: this process, worker processes, or workers on a cluster.

To add one: one file here, one catalog line, one YAML in `configs/executor/`, one test.
"""
