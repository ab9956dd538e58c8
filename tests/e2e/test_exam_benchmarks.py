"""The programs that make rows of the leaderboard, and that compare two evaluations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from unlatch.workflows.policies.exam import read_suite

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("exam_rows")


@pytest.fixture
def stability(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("exam_stability")


def test_a_policy_learns_from_the_seen_objects_with_another_seed_than_that_of_the_exam(rows):
    cells = rows.learned_cells()
    assert {cell.tier for cell in cells} == {"seen"}
    assert len(cells) == 8
    for cell in cells:
        keys = rows.without(cell, "seed", "episodes")
        assert set(cell.keys) - set(keys) == {f"seed={read_suite()['seed']}", "episodes=20"}
        assert "object.split=train" in keys
    assert read_suite()["seed"] != rows.SEED


def test_demonstrations_are_made_once_and_a_part_without_a_success_is_left_out(rows, tmp_path, monkeypatch):
    commands: list[Sequence[str | Path]] = []

    def run(self: object, name: str, command: Sequence[str | Path], variables: object = None) -> float:
        commands.append(command)
        for word in map(str, command):
            if word.endswith(".draft.npz"):
                Path(word[4:]).write_bytes(b"")
        return 0.0

    def open_dataset(path: Path) -> Any:
        return SimpleNamespace(summaries=lambda: [SimpleNamespace(success=not path.name.startswith("open_box"))])

    monkeypatch.setattr(rows.Runner, "run", run)
    monkeypatch.setattr(rows.unlatch, "open_dataset", open_dataset)
    made = rows.make_arrays(rows.Runner(tmp_path, 1.0), 20, 1)
    assert len(made) == 14  # two parts of seven tasks
    assert sum("collect" in command for command in commands) == 16
    assert any(f"only=[{','.join(map(str, range(10, 20)))}]" in command for command in commands)
    commands.clear()
    assert rows.make_arrays(rows.Runner(tmp_path, 1.0), 20, 1) == made
    assert len(commands) == 2  # open_box is tried again


def test_what_is_learned_from_other_demonstrations_or_in_other_steps_is_another_policy(rows, tmp_path, monkeypatch):
    trained: list[str] = []

    def run(self: object, name: str, command: Sequence[str | Path], variables: object = None) -> float:
        trained.append(name)
        next(Path(str(word)[4:]) for word in command if str(word).startswith("out=")).write_bytes(b"")
        return 0.0

    np.savez(tmp_path / "numbers.npz", states=np.zeros((2, 1)), actions=np.zeros((2, 1)), lengths=np.array([2]))
    monkeypatch.setattr(rows.Runner, "run", run)
    monkeypatch.setattr(rows, "make_arrays", lambda *_: [tmp_path / "numbers.npz"])
    runner = rows.Runner(tmp_path, 1.0)
    cfgs = [rows.Cfg(demos=2, steps=1), rows.Cfg(demos=2, steps=5), rows.Cfg(demos=3, steps=5)]
    assert len({rows._learn(runner, "cloning", cfg) for cfg in cfgs}) == len(trained) == 3
    assert len({rows._learn(runner, "nearest", cfg) for cfg in cfgs}) == 2
    assert not list(tmp_path.glob("*.draft.npz"))


def test_the_task_that_no_policy_solves_is_left_out(rows, stability):
    left_out = {cell.task for cell in rows.learned_cells()} - {cell.task for cell in stability.asked_cells()}
    assert left_out == {"put_in_microwave"}
    assert "all but `put_in_microwave`" in stability.__doc__


def test_a_command_is_stopped_at_the_end_of_the_time_and_a_failure_names_its_log(rows, tmp_path):
    wait = [sys.executable, "-c", "import time; time.sleep(30)"]
    with pytest.raises(TimeoutError):
        rows.Runner(tmp_path, 0.5 / 60).run("wait", wait)
    with pytest.raises(RuntimeError, match=r"bad ended with exit code 3. Look at .*bad\.log"):
        rows.Runner(tmp_path, 1.0).run("bad", [sys.executable, "-c", "import sys; print('x'); sys.exit(3)"])
    assert (tmp_path / "logs" / "bad.log").read_text() == "x\n"


def test_two_evaluations_agree_if_their_counts_differ_by_chance_only(stability):
    rng, first, second = np.random.default_rng(0), *stability.SEEDS

    def make(shares: Sequence[float], seed: int) -> list[dict[str, int]]:
        return [{"network": i, "seed": seed, "n": 140, "goal": rng.binomial(140, p)} for i, p in enumerate(shares)]

    shares = np.linspace(0.05, 0.9, 8)
    found = stability.compare(make(shares, first) + make(shares, second), "goal")
    assert found["pairs"] == found["intervals overlap"] == 8
    assert found["difference within its interval"] >= 6
    assert found["spearman"] > 0.9
    other = stability.compare(make(shares, first) + make(shares[::-1], second), "goal")
    assert other["intervals overlap"] <= 4
    assert other["spearman"] < -0.9
