"""When the debugger opens around the planning of an episode."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli import debugger


@pytest.mark.parametrize(
    ("raised", "active", "opened"),
    [(ValueError("a bug"), True, True), (ValueError("a bug"), False, False), (ConfigError("wrong input"), True, False)],
)
def test_the_debugger_opens_for_a_bug_and_the_exception_goes_on(raised, active, opened, monkeypatch):
    seen: list[Exception] = []
    monkeypatch.setattr(debugger, "open_debugger", lambda exc, advice: seen.append(exc))
    with pytest.raises(type(raised)), debugger.debugging(active=active):
        raise raised
    assert seen == ([raised] if opened else [])
