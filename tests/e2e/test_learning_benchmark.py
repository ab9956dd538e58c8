"""The benchmark of learning: its tasks have names of files, and a small study runs from demonstrations to the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from unlatch.objects.procedural.catalog import GENERATORS

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def learning(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import learning

    return learning


def test_real_objects_are_evaluated_by_category_with_the_network_of_the_study(
    learning: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("UNLATCH_PARTNET_DIR", raising=False)
    (without,) = learning.list_points()
    root = tmp_path / "real objects"
    for place in ("laptop/10211", "laptop/9992", "safe/102318", "bottle/3398"):  # any_urdf.py opens no bottles
        (root / place).mkdir(parents=True)
        (root / place / "mobility.urdf").write_text(GENERATORS.load("laptop")(1).model.to_urdf())
    monkeypatch.setenv("UNLATCH_PARTNET_DIR", str(root))
    every, *real = learning.list_points()
    assert every == without
    assert [(item.name, item.episodes, item.key) for item in real] == [
        ("real_laptop", 10, every.key),
        ("real_safe", 5, every.key),
    ]
    from learning_runs import as_file_name, task_options

    assert task_options(real[0].tasks[0]) == [
        f"object={root / 'laptop'}",
        "skill=open",
        "object.instances=round_robin",
    ]
    names = [as_file_name(item.tasks[0]) for item in real]
    assert len(set(names)) == 2
    for name in names:
        (tmp_path / f"{every.key}-20-{name}.log").write_text("")


def test_other_words_give_another_name_of_a_file(learning: ModuleType):
    from learning_runs import as_file_name

    assert as_file_name("object=oven skill=open") == "objectoven-skillopen"
    assert as_file_name("object=/a/b skill=open") != as_file_name("object=/a-b skill=open")
    assert len(as_file_name(f"object=/{'a/' * 500} skill=open")) < 100


@pytest.mark.slow
@pytest.mark.e2e
def test_a_small_study_runs_from_demonstrations_to_the_table(tmp_path: Path):
    pytest.importorskip("torch", reason="extra train")
    words = ["tasks", "only=close_drawer", "scale=0.005", "cores=2", f"out={tmp_path}"]
    command = [sys.executable, str(BENCHMARKS / "learning.py"), *words]
    # threads that wait without spinning: beside other work on the cores, training would take ten times as long
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_WAIT_POLICY": "PASSIVE"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path
    )
    logs = "\n".join(path.read_text()[-2000:] for path in tmp_path.rglob("*.log"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{logs}"
    (row,) = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert (row["training"], row["task"], row["n"]) == ("tasks/close_drawer", "close_drawer", 4)
    assert 0 <= row["clean"] <= row["goal"] <= row["n"]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("| tasks/close_drawer")]
    assert f"{row['goal']}/{row['n']}" in line
