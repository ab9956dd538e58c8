"""The exam: what it asks is frozen, and its result is what the records say."""

import contextlib
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.workflows.builders import data_set_of
from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.policies import exam as exam_module
from unlatch.workflows.policies.exam import (
    PAGE,
    RESULT,
    SCENES,
    SUITE,
    Cell,
    ExamCfg,
    hash_scene,
    list_cells,
    list_other_scenes,
    load_cell,
    read_suite,
)
from unlatch.workflows.runs.evaluate import make_env_of

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]


def test_the_suite_has_24_tasks_in_three_tiers_and_eight_axes_of_three_levels():
    cells = list_cells(ExamCfg())
    plain = [cell for cell in cells if cell.level == 0]
    assert Counter(cell.tier for cell in plain) == {"seen": 8, "unseen": 8, "new_kinds": 8}
    assert (len(plain), len(read_suite()["axes"]), len(cells)) == (24, 8, 24 * 25)
    assert {(cell.axis, cell.level) for cell in cells if cell.level} == {
        (axis, level) for axis in read_suite()["axes"] for level in (1, 2, 3)
    }
    moved = {cell.name for cell in cells if cell.axis == "pose"}
    assert (
        {cell.task for cell in plain}
        <= set(yaml.safe_load(SCENES.read_text()))
        <= {cell.task for cell in plain} | moved
    )


def test_shards_share_the_cells_and_seen_and_unseen_tasks_have_other_objects():
    cells = list_cells(ExamCfg("smoke"))
    parts = [cell for k in (1, 2, 3) for cell in list_cells(ExamCfg("smoke", shard=f"{k}/3"))]
    assert sorted(cell.name for cell in parts) == sorted(cell.name for cell in cells)
    keys = {cell.task: cell.keys for cell in list_cells(ExamCfg()) if cell.level == 0}
    for task, words in keys.items():
        if task.startswith("unseen_"):
            seen = [word for word in keys[task.removeprefix("unseen_")] if word != "object.split=train"]
            assert [word for word in words if word != "object.split=held_out"] == seen


CELL = Cell("open_drawer", "seen", "plain", 0, 2, ())


def test_episodes_of_a_larger_exam_in_the_same_folder_do_not_count_even_if_they_are_damaged(tmp_path):
    data_set = data_set_of(tmp_path / CELL.name, [None, "slipped", None, None])
    (data_set.folder_of(3) / "episode.json").write_text("{")
    for path in data_set.path.rglob("*.jsonl"):  # the index
        path.unlink()
    assert list(exam_module._summaries(CELL, data_set)) == [0, 1]
    assert exam_module._is_complete(CELL, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "levels"), [("open_drawer", (0, 1, 2, 3)), ("close_laptop", (0, 3)), ("put_in_dishwasher", (0, 3))]
)
def test_every_perturbation_composes_and_levels_differ(task, levels, tmp_path):
    cells = [cell for cell in list_cells(ExamCfg()) if cell.task == task and cell.level in levels]
    found = {cell.name: load_cell(cell, "random", [], tmp_path) for cell in cells}
    told = [
        json.dumps(
            [[vars(rule) for rule in cfg.randomization.rules], cfg.randomization.distractors.most, cfg.task.language]
        )
        for cfg in found.values()
    ]
    assert len(set(told)) == len(told) == 1 + 8 * (len(levels) - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        *("task=open_box", "object.size=1.2", "randomization=full", "seed=3", "task.settle_s=0.1", "episodes=2"),
        *("end_at_violation=true", "robot.arms.0.gripper.finger_force_limit_n=5000", "success_when=still"),
        "robot=ur5 robot.arms.0.gripper.finger_force_limit_n=5000",
    ],
)
def test_a_key_that_changes_the_exam_is_refused(words, tmp_path):
    with pytest.raises(ConfigError, match=r"would change (what the exam asks|how many episodes)"):
        load_cell(list_cells(ExamCfg("smoke"))[0], "random", words.split(), tmp_path)


@pytest.mark.slow
def test_the_planner_is_judged_as_a_demonstration_and_no_key_changes_that(tmp_path):
    cell = list_cells(ExamCfg("smoke"))[0]
    with pytest.raises(ConfigError, match=r"evaluate.success_when is .held., expected .still."):
        load_cell(cell, "planner", ["success_when=held"], tmp_path)


@pytest.mark.slow
def test_a_robot_of_a_users_own_folder_does_not_take_the_place_of_one_of_the_catalog(tmp_path):
    (tmp_path / "robot").mkdir()
    own = "# stronger\ndefaults: [franka_panda_schema, _self_]\nfinger_friction: 9.0\n"
    (tmp_path / "robot" / "franka_panda.yaml").write_text(own)
    cell = list_cells(ExamCfg("smoke"))[0]
    with pytest.raises(ConfigError):
        load_cell(cell, "random", ["robot=franka_panda"], tmp_path, config_dirs=[str(tmp_path)])


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["friction_and_mass", "latency", "robot"])
def test_the_robot_of_a_perturbation_is_the_one_that_takes_the_exam(axis, tmp_path):
    cell = next(cell for cell in list_cells(ExamCfg("smoke")) if cell.axis == axis)
    cfg = load_cell(cell, "random", ["robot=ur5"], tmp_path)
    assert cfg.robot.name == "ur5"
    assert {rule.view for rule in cfg.randomization.rules} - {"microwave"} == {"ur5"}


@pytest.mark.slow
def test_another_robot_has_the_scenes_of_the_exam(tmp_path):
    known = yaml.safe_load(SCENES.read_text())
    cells = [cell for cell in list_cells(ExamCfg("smoke")) if cell.task in ("open_microwave", "close_laptop")]
    for cell in [cell for cell in cells if not cell.level]:
        with contextlib.closing(make_env_of(load_cell(cell, "random", ["robot=ur5"], tmp_path))) as env:
            env.reset()
            env.finish()
            assert hash_scene(env.record()) == known[cell.task]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["take_from_refrigerator/plain", "take_from_refrigerator/pose-1"])
def test_a_moved_object_with_another_layout_has_a_scene_of_the_exam(name, tmp_path):
    (cell,) = (cell for cell in list_cells(ExamCfg()) if cell.name == name)
    with contextlib.closing(make_env_of(load_cell(cell, "random", [], tmp_path))) as env:
        env.reset()
        env.finish()
        row = {"cell": cell.name, "task": cell.task, "scene": hash_scene(env.record())}
    assert list_other_scenes([row]) == []
    assert list_other_scenes([{**row, "scene": "0"}]) == [name]


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks" / "exam").glob("*.json")), ids=lambda path: path.stem)
def test_a_row_of_the_leaderboard_has_the_scenes_of_the_exam(path):
    result = json.loads(path.read_text())
    assert result["other_scenes"] == list_other_scenes(result["cells"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("words", [["experiment=droid"], ["experiment=libero"]])
def test_an_experiment_may_be_set(words, tmp_path):
    cfg = load_cell(list_cells(ExamCfg("smoke"))[2], "openpi://x", words, tmp_path)
    assert cfg.world.record_hz in (15, 20)
    assert cfg.randomization.rules


@pytest.mark.slow
@pytest.mark.parametrize("words", [["experiment=mine"], ["robot=ur5", "world.record_hz=10"]])
def test_what_a_policy_needs_may_be_set_in_a_folder_of_any_name(words, tmp_path):
    (tmp_path / "experiment").mkdir()
    own = "# @package _global_\n# a slow policy\nworld: {record_hz: 10}\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(own)
    cell, out = list_cells(ExamCfg("smoke"))[2], tmp_path / "a, {b}=c"
    cfg = load_cell(cell, "openpi://x", words, out, config_dirs=[str(tmp_path)])
    assert (cfg.world.record_hz, cfg.out) == (10, str(out / cell.name))
    assert cfg.randomization.rules


@pytest.mark.parametrize(
    ("cfg", "text"),
    [
        (ExamCfg("huge"), "exam='huge' is not a known exam"),
        (ExamCfg(tier="sen"), "tier='sen' is not a known tier"),
        (ExamCfg(shard="3/2"), "shard=3/2 cannot be read"),
        (ExamCfg(shard="²/3"), "shard=²/3 cannot be read"),
        (ExamCfg("smoke", shard="15/16"), "shard=15/16 has no evaluations: there are 14 evaluations."),
    ],
)
def test_an_unknown_size_tier_or_share_is_named(cfg, text):
    with pytest.raises(ConfigError, match=text):
        list_cells(cfg)


QUICK = """
def stop(observation):
    return None
"""


@pytest.fixture(scope="module")
def taken(made_once) -> Path:
    """The folder of an exam of one tier, by a policy that ends every episode at once."""

    def take(folder: Path) -> None:
        from unlatch import command_table

        words = ["exam", "exam=smoke", "tier=new_kinds", f"out={folder / 'exam'}"]
        timed = ["policy=random", "action.mode=joint_delta", "task.max_duration_s=1"]
        assert command_table.main([*words, *timed]) == 2  # the exam sets the time
        stops = ["policy=quick_stop:stop", "workers=2", "name=stops"]  # they share the six episodes of each evaluation
        assert command_table.main([*words, *stops]) == 0

    return made_once("an exam", take) / "exam"


@pytest.fixture(scope="module", autouse=True)
def quick_policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    (folder / "quick_stop.py").write_text(QUICK)
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    yield
    patch.undo()


@pytest.mark.slow
def test_a_result_has_counts_intervals_clips_and_known_scenes(taken, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from exam import leaderboard

    result = json.loads((taken / RESULT).read_text())
    assert (result["exam"], result["size"], result["name"]) == ("articulated-v1", "smoke", "stops")
    assert result["plain"]["n"] == 12
    assert result["plain"]["goal"] == result["plain"]["clean"] == 0
    assert result["plain"]["goal_interval"] == pytest.approx([0.0, 0.2425], abs=1e-4)
    assert list(result["tier"]) == ["new_kinds"]
    assert list(result["task"]) == ["close_laptop", "turn_faucet"]
    assert result["other_scenes"] == []
    text = (taken / PAGE).read_text()
    assert "stops" in text
    for task in result["task"]:
        assert f'src="clips/{task}.webp"' in text
        assert (taken / "clips" / f"{task}.webp").read_bytes()[:4] == b"RIFF"
    assert "| stops | smoke | 0/12, 0 % (0 to 24) |" in leaderboard([result])


@pytest.mark.slow
def test_check_agrees_with_an_exam_and_finds_a_better_result(taken, run_command, tmp_path):
    assert run_command("check", taken)[:2] == (
        0,
        f"{taken}: every verdict agrees, and the result is what the data sets give\n",
    )
    forged = tmp_path / "exam"
    shutil.copytree(taken, forged)
    text = (forged / RESULT).read_text()
    (forged / RESULT).write_text(text.replace('"goal": 0', '"goal": 1', 1))
    code, out, _ = run_command("check", forged)
    assert code == 1
    assert "exam.json: plain is not what the data sets give." in out


@pytest.mark.slow
def test_check_finds_a_data_set_that_is_not_of_the_exam(taken, run_command, tmp_path):
    forged = tmp_path / "exam"
    shutil.copytree(taken, forged)
    shutil.rmtree(forged / "turn_faucet" / "plain")
    shutil.copytree(taken / "close_laptop" / "plain", forged / "turn_faucet" / "plain")
    code, out, _ = run_command("check", forged)
    assert code == 1
    assert 'turn_faucet/plain: object.category is "laptop" in the data set, expected' in out


@pytest.mark.slow
def test_a_shard_writes_no_result_until_all_shards_are_complete(taken, run_command, tmp_path):
    out = tmp_path / "exam"
    shutil.copytree(taken, out)
    (out / RESULT).unlink()
    shutil.rmtree(out / "turn_faucet" / "plain")
    words = ["exam", "policy=quick_stop:stop", "exam=smoke", "tier=new_kinds", "workers=1", f"out={out}"]
    code, said, _ = run_command(*words, "shard=1/2")
    assert (code, said.splitlines()[-1]) == (
        0,
        "other shards have not completed 1 evaluation; the last one writes the result",
    )
    (out / "turn_faucet" / "plain").mkdir()  # another shard has begun it
    assert run_command(*words, "shard=1/2")[1].splitlines()[-1].startswith("other shards")
    assert not (out / RESULT).exists()
    (out / "turn_faucet" / "plain").rmdir()
    code, said, _ = run_command(*words, "shard=2/2")
    assert (code, said.splitlines()[-1].startswith("result: ")) == (0, True)
    assert run_command("check", out)[0] == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "cannot be read"),
        ("[]", "exam, size, only_tier, name, policy, keys missing or of another kind"),
        (
            '{"exam": "other", "size": "smoke", "only_tier": null, "name": "x", "policy": "random", "keys": []}',
            ": it is of other.",
        ),
    ],
)
def test_a_damaged_or_foreign_result_is_named(run_command, tmp_path, text, problem):
    (tmp_path / RESULT).write_text(text)
    code, _, said = run_command("check", tmp_path)
    assert code == 2
    assert str(tmp_path / RESULT) in said
    assert problem in said


def test_the_leaderboard_is_what_the_results_give_and_the_suite_says_with_which_behaviour(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import exam

    assert exam.PAGE_FILE.read_text() == exam.page()
    assert f"fingerprint: {read_suite()['fingerprint']}" in SUITE.read_text()
    assert len(read_suite()["fingerprint"]) == 12


def test_a_clip_is_made_again_after_its_episode_and_one_that_cannot_be_made_is_named(tmp_path, monkeypatch, caplog):
    made: list[int] = []

    def write(cfg: object, record: EpisodeRecord, options: object, out: str) -> None:
        if len(made) == 2:
            raise PluginError("No renderer works here.")
        made.append(record.number)
        Path(out).parent.mkdir(exist_ok=True)
        Path(out).write_bytes(b"")

    monkeypatch.setattr(exam_module, "write_clip", write)
    monkeypatch.setattr(exam_module, "config_of", lambda data_set: None)
    data_set_of(tmp_path / CELL.name, [None])
    path = "clips/open_drawer.webp"
    assert [exam_module._take_clip(CELL, tmp_path) for _ in range(2)] == [path, path]
    assert len(made) == 1
    os.utime(tmp_path / path, (1e9, 1e9))
    assert exam_module._take_clip(CELL, tmp_path) == path
    assert len(made) == 2
    os.utime(tmp_path / path, (1e9, 1e9))
    assert exam_module._take_clip(CELL, tmp_path) is None
    assert "open_drawer/plain has no clip: No renderer works here." in caplog.text
