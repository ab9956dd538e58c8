"""Settings of Hypothesis for all tests of simcore."""

from hypothesis import settings

# no deadline: a busy machine must not fail a test; the same examples in every run, so that a failure can be repeated
settings.register_profile("simcore", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("simcore")
