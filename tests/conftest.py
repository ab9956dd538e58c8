"""Settings of every test: Hypothesis does not judge a machine by its speed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# a loaded machine draws slowly; what a test states does not depend on that
settings.register_profile("unlatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unlatch")
