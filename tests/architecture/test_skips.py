"""What is skipped is listed with the command that brings it, and continuous integration fails on an unlisted reason."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


class Reporter(SimpleNamespace):
    """Notes what pytest's reporter would print."""

    def section(self, title: str) -> None:
        self.said = [title]

    def line(self, text: str, **_: Any) -> None:
        self.said.append(text)


@pytest.mark.parametrize(
    ("reasons", "exit_code", "last"),
    [
        ([], 0, None),
        (["no data sheet of 'arm' is here"], 0, "    1  no data sheet of 'arm' is here (no maker states these values)"),
        (["fish is not installed"] * 2, 1, "--strict-skips: 1 reasons are not in MAY_BE_SKIPPED of tests/conftest.py"),
    ],
)
def test_skips_are_listed_and_unlisted_reasons_fail(
    request: pytest.FixtureRequest, reasons: list[str], exit_code: int, last: str | None
):
    conftest = request.config.pluginmanager.get_plugin(str(Path(__file__).parents[1] / "conftest.py"))
    skipped = [SimpleNamespace(longrepr=("file.py", 3, f"Skipped: {reason}")) for reason in reasons]
    reporter = Reporter(stats={"skipped": skipped}, said=[])
    plugins = SimpleNamespace(get_plugin={"terminalreporter": reporter}.get)
    config = SimpleNamespace(pluginmanager=plugins, getoption={"strict_skips": True}.get)
    session = SimpleNamespace(config=config, exitstatus=0)
    conftest.pytest_sessionfinish(session, 0)
    assert session.exitstatus == exit_code
    conftest.pytest_terminal_summary(reporter, config)
    assert reporter.said[-1].startswith(last) if last else reporter.said == [], reporter.said
    assert any("make test-needs" in line for line in reporter.said) == bool(exit_code)
