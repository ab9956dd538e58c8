"""Who runs the jobs of a multirun: this process one after the other, or a launcher of Hydra's.

To add one: one line here, one YAML in `configs/launcher/`, one test.
"""
