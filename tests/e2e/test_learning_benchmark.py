"""The benchmark of learning: its tasks have names of files, and a small study runs from demonstrations to the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError

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
    without = list(learning.list_points())
    root = tmp_path / "real objects"
    for place in ("laptop/10211", "laptop/9992", "safe/102318", "bottle/3398"):  # any_urdf.py opens no bottles
        (root / place).mkdir(parents=True)
        (root / place / "mobility.urdf").write_text(GENERATORS.load("laptop")(1).model.to_urdf())
    monkeypatch.setenv("UNLATCH_PARTNET_DIR", str(root))
    even, *real, dense, dense_laptop, dense_safe = (found := list(learning.list_points()))[:6]
    assert [item for item in found if "/" not in item.name] == without
    names = [("every_category/real_laptop", 10, even.key), ("every_category/real_safe", 5, even.key)]
    assert [(item.name, item.episodes, item.key) for item in real] == names
    assert {dense.key, dense_laptop.key, dense_safe.key} == {dense.key} != {even.key}
    from learning_runs import as_file_name, task_options

    options = ["skill=open", "object.instances=round_robin", "world.record_hz=10"]
    assert task_options(real[0].tasks[0]) == [f"object={root / 'laptop'}", *options]
    assert as_file_name("object=oven skill=open") == "objectoven-skillopen"
    assert as_file_name("object=/a/b skill=open") != as_file_name("object=/a-b skill=open")
    assert len(as_file_name(f"object=/{'a/' * 500} skill=open")) < 100


@pytest.fixture
def runs_with_stub(learning: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes runs whose commands are only listed; a training writes its log, an evaluation nothing."""
    import learning_runs

    commands: list[list[str]] = []

    def list_command(command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None) -> None:
        commands.append(list(command))
        out = next((Path(word.partition("=")[2]) for word in command if word.startswith("out=")), log.with_suffix(".x"))
        if "../lerobot_train.py" in command:
            out.mkdir(parents=True)
            (out / "model.safetensors").write_text("network")
            log.write_text("data: 12 episodes to train on, 99 frames\nINFO step:20\nstep 20: trained in 4 s\n")
        elif "train.py" in command:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text("network")
            log.write_text(
                "data: 11 episodes to train on, 1 held out, 99 frames\nstep 20: loss 1, hand 1 mm off, 3 s\n"
            )
        elif "states.py" in command:
            out.touch()
        else:
            out.mkdir(parents=True, exist_ok=True)

    class OneSuccess:
        success = True

        def summaries(self) -> list[OneSuccess]:
            return [self]

    counts = {"n": 4, "goal": 3, "clean": 2, "share": 0.9, "codes": {}}
    monkeypatch.setattr(learning_runs, "_run", list_command)
    monkeypatch.setattr(learning_runs, "made_with", lambda: {"fingerprint": "f"})
    monkeypatch.setattr(learning_runs.unlatch, "open_dataset", lambda path: OneSuccess())
    monkeypatch.setattr(learning_runs.RunStatistics, "of", lambda summaries: None)
    monkeypatch.setattr(
        learning_runs, "_make_row", lambda training, task, found: {"training": training.name, "task": task, **counts}
    )

    def make(*, seed: int = 1, cards: int = 0, torch: str | None = None):
        used_before = learning_runs.Seed.development
        return learning_runs.TrainingRuns(tmp_path, seed=seed, seed_is=used_before, cores=2, cards=cards, torch=torch)

    return make, commands


def commands_with(commands: list[list[str]], word: str) -> list[list[str]]:
    return [command for command in commands if word in command]


def test_results_of_another_seed_or_number_of_episodes_are_not_reused(learning: ModuleType, runs_with_stub):
    make, commands = runs_with_stub
    (training, *_) = learning.list_tasks()
    assert make().run([training]) == []
    assert [row["trained_on"] for row in make().rows([training])] == [11]
    count = len(commands)
    assert make().run([training]) == []
    assert len(commands) == count  # nothing is made again
    assert make(seed=2).rows([training]) == make().rows([training.scaled(0.5)]) == []


def test_without_a_fingerprint_nothing_is_collected_or_trained(
    learning: ModuleType, runs_with_stub, monkeypatch: pytest.MonkeyPatch
):
    def refuse() -> dict[str, str]:
        raise ConfigError("no fingerprint")

    make, commands = runs_with_stub
    monkeypatch.setattr("learning_runs.made_with", refuse)
    with pytest.raises(ConfigError, match="no fingerprint"):
        make().run(list(learning.list_tasks())[:1])
    assert commands == []


def test_a_larger_training_reuses_the_parts_of_a_smaller_one_and_an_equal_one_its_network(
    learning: ModuleType, runs_with_stub
):
    make, commands = runs_with_stub
    sizes = {"small": 50, "equal": 50, "large": 150}
    trainings = [learning.train_for_curve(name, learning.Demos("close_drawer", n)) for name, n in sizes.items()]
    runs = make()
    assert runs.run(trainings) == []
    collected = commands_with(commands, "collect")
    assert len(collected) == len({command[-1] for command in collected}) == 3  # of 50 episodes each
    assert len(commands_with(commands, "train.py")) == 2
    assert {row["training"] for row in runs.rows(trainings)} == {*sizes}


def test_parts_are_rendered_on_all_cards_in_turn(learning: ModuleType, runs_with_stub, monkeypatch: pytest.MonkeyPatch):
    import learning_runs

    make, _ = runs_with_stub
    stub, cards = learning_runs._run, []

    def note_card(command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None) -> None:
        if "render" in command or "collect" in command:
            cards.append((command[3], (environment or {})["UNLATCH_CARD"]))
        if "render" not in command:  # it has no out=
            stub(command, log, environment=environment)

    monkeypatch.setattr(learning_runs, "_run", note_card)
    view = replace(learning.IMAGES, renderer="pygfx")
    training = replace(learning.train_for_curve("seen", learning.Demos("close_drawer", 150)), view=view)
    assert make(cards=2).run([training]) == []
    assert Counter(cards) == {("collect", "0"): 2, ("collect", "1"): 1, ("render", "0"): 2, ("render", "1"): 1}


def test_six_tasks_in_two_rooms_are_learned_from_arrays_and_served_by_the_python_with_torch(
    learning: ModuleType, runs_with_stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import learning_runs

    make, commands = runs_with_stub
    served: list[list[str]] = []

    class Server:
        """Listens at once."""

        def __init__(self, command: list[str], **options: object) -> None:
            served.append(command)
            options["stdout"].write("listening")  # type: ignore[attr-defined]
            options["stdout"].flush()  # type: ignore[attr-defined]

        def terminate(self) -> None:
            served.append([])

    monkeypatch.setattr(learning_runs.subprocess, "Popen", Server)
    found = [item.scaled(0.01) for item in learning.list_images_one_policy()]
    plain, *_, unseen = [item for item in found if item.name.endswith("/2")]
    assert (plain.key, len(plain.tasks)) == (unseen.key, 6)
    assert all("scenery=office" in task for task in unseen.tasks)
    assert not any("office" in " ".join([demos.task, *demos.options]) for demos in plain.demos)
    assert make(torch="python3.x").run([plain, unseen]) == []
    (trained,) = commands_with(commands, "train.py")
    assert trained[5:7] == ["python3.x", "train.py"]
    assert {"hidden=hand_keypoints,openness,geometry", "words=1", "seed=2"} <= {*trained}
    assert len([word for word in trained if word.endswith(".npz") and "/sets/" in word]) == len(plain.demos) == 18
    ((*_, port), stopped) = served
    evaluated = commands_with(commands, "evaluate")
    assert (len(evaluated), stopped) == (12, [])
    policy = f"policy=tcp://127.0.0.1:{port.removeprefix('port=')}"
    for command in evaluated:
        assert {policy, "observation.state=[joint_position,gripper]", "observation.images_every=5"} <= {*command}


@pytest.mark.parametrize(("kind", "executed"), [("act", 6), ("diffusion", 8)])
def test_policies_of_lerobot_learn_from_all_parts_and_observe_the_objects(
    learning: ModuleType, runs_with_stub, tmp_path: Path, kind: str, executed: int
):
    make, commands = runs_with_stub
    (training,) = [item for item in learning.list_lerobot() if item.name == f"{kind}/close_drawer"]
    training = replace(training, demos=(replace(training.demos[0], episodes=100),))
    assert make().run([training]) == []
    exports, (trained,), (evaluated,) = (
        commands_with(commands, word) for word in ("export", "../lerobot_train.py", "evaluate")
    )
    assert len(exports) == 2
    assert all("objects=true" in command for command in exports)
    assert {f"out={word}" for word in trained if "=" not in word and "/sets/" in word} == {
        word for command in exports for word in command if word.startswith("out=")
    }
    assert {f"policy.type={kind}", f"policy.n_action_steps={executed}"} <= {*trained}
    (policy,) = (tmp_path / "networks").glob("*.npz")
    assert {f"policy=lerobot:{policy}", "observation.objects=true", "world.record_hz=10"} <= {*evaluated}
    (row,) = make().rows([training])
    assert (row["trained_on"], row["train_s"]) == (12, 4)


def test_lerobot_trains_on_the_joined_sets_and_leaves_the_policy(
    learning: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import lerobot_train

    def join(names: list[str], name: str, *, roots: list[Path], aggr_root: Path) -> None:
        assert len(names) == len(roots)
        counts = {"total_episodes": sum(int(root.name) for root in roots), "total_frames": 99}
        (aggr_root / "meta").mkdir(parents=True)
        (aggr_root / "meta" / "info.json").write_text(json.dumps(counts))

    options: dict[str, str] = {}

    def train(command: Sequence[str], *, check: bool) -> None:
        assert check
        assert command[:3] == [sys.executable, "-m", "lerobot.scripts.lerobot_train"]
        options.update(word.removeprefix("--").split("=", 1) for word in command[3:])
        checkpoints = Path(options["output_dir"], "checkpoints")
        (checkpoints / "20" / "pretrained_model").mkdir(parents=True)
        (checkpoints / "20" / "pretrained_model" / "model.safetensors").write_text("network")
        (checkpoints / "last").symlink_to("20")

    datasets = ModuleType("lerobot.datasets")
    datasets.aggregate_datasets = join  # type: ignore[attr-defined]
    for name, module in (("lerobot", ModuleType("lerobot")), ("lerobot.datasets", datasets)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(lerobot_train.subprocess, "run", train)
    out = tmp_path / "policy"
    words = [str(tmp_path / "3"), str(tmp_path / "4"), f"out={out}", "policy.type=act", "steps=20", "num_workers=0"]
    lerobot_train.main(words)
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]  # and nothing else is left
    assert (out / "model.safetensors").read_text() == "network"
    assert options.items() >= {"policy.type": "act", "steps": "20", "num_workers": "0", "log_freq": "500"}.items()
    assert Path(options["dataset.root"]).name == "joined"
    data, step = capsys.readouterr().out.splitlines()
    assert (data, step[:20]) == ("data: 7 episodes to train on, 99 frames", "step 20: trained in ")
    with pytest.raises(SystemExit, match="exists"):
        lerobot_train.main(words)


def test_a_command_that_fails_is_a_problem_and_no_result(
    learning: ModuleType, runs_with_stub, monkeypatch: pytest.MonkeyPatch
):
    import learning_runs

    make, _ = runs_with_stub

    def fail(command: Sequence[str], log: Path, **_: object) -> None:
        raise RuntimeError("ended with exit code 1")

    monkeypatch.setattr(learning_runs, "_run", fail)
    training = learning.train_for_curve("broken", learning.Demos("close_drawer", 50))
    assert make().run([training]) == ["broken: ended with exit code 1"]
    assert make().rows([training]) == []


@pytest.mark.heavy
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
    assert f"| {row['n']} | {row['goal']}, " in line
