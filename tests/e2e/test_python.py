"""The Python functions: progress and mistakes."""

from pathlib import Path

import pytest

import unlatch

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_progress_is_reported_to_a_function(tmp_path: Path):
    seen = []
    cfg = unlatch.load("close_drawer", "executor=serial", "pictures=0")
    data = unlatch.collect(
        cfg, episodes=2, out=tmp_path / "set", progress=lambda progress: seen.append((progress.done, progress.total))
    )
    assert "command" not in data.info  # the script's own arguments are no command of `unlatch`
    assert seen == [(1, 2), (2, 2)]
    assert [summary.number for summary in data.summaries()] == [0, 1]


def test_a_mistake_is_an_exception_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    cfg = unlatch.load("close_drawer")
    for call, message in (
        (lambda: unlatch.load("close_drawer", "robot=nobody"), r"robot"),
        (lambda: unlatch.collect(cfg, episodes=0), r"episodes=0 is out of range"),
        (lambda: unlatch.evaluate(cfg, 3), r"policy='3' is of type int\. Expected a function"),
        (lambda: unlatch.evaluate(cfg, (number for number in range(3)).send), r"cannot be sent to a worker"),
    ):
        with pytest.raises(unlatch.ConfigError, match=message):
            call()
    with pytest.raises(unlatch.RecordingError, match="is not a data set"):
        unlatch.open_dataset("nowhere")
    assert list(tmp_path.iterdir()) == []
