"""The behaviour of this code is that of benchmarks/fingerprint.json, by which pages mark rows as present."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def fingerprint(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import fingerprint

    return fingerprint


@pytest.mark.slow
@pytest.mark.integration
def test_the_fingerprint_is_that_of_the_file(fingerprint, episode):
    """On a machine that the file does not name, verdicts must be equal and joints must end at nearly the same place."""
    now, present = fingerprint.measure(episode), fingerprint.read_present()
    here = [found for found in present if found.machine == now.machine]
    advice = (
        "If the change is wanted, run: python benchmarks/fingerprint.py write=true, then benchmarks/results_page.py"
    )
    if here:
        assert now.fingerprint == here[0].fingerprint, [*fingerprint.differences(now, here[0]), advice]
    assert fingerprint.agrees(now, present[0]), [*fingerprint.differences(now, present[0]), advice]


def test_another_verdict_or_end_is_a_difference(fingerprint):
    then = fingerprint.read_present()[0]
    name = "task=open_drawer"
    for change in ({"code": "slipped"}, {"end": {"drawer": [0.3]}}, {"sha256": "0"}):
        changed = {**then.episodes, name: {**then.episodes[name], **change}}
        now = fingerprint.Behaviour(then.machine, then.code, "0", changed)
        assert [line.split(":")[0] for line in fingerprint.differences(now, then)] == [name]
        assert fingerprint.agrees(now, then) == (set(change) == {"sha256"})
