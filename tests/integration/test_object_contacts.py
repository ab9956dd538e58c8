"""What a held thing presses, and bystanders that a moved part touches, are recorded and judged in a whole episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unlatch
from unlatch.robots.arm_control import ArmAction
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.commands import Phase
from unlatch.skills.skill import Skill
from unlatch.solver.scene import ArmModel
from unlatch.workflows.checks.criteria_source import check_data_set
from unlatch.workflows.commands.check import replay_problems
from unlatch.workflows.episode.frame_loop import FrameLoop
from unlatch.workflows.episode.scene import arm_model
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SHOULDER, LOWER_RAD = 1, 0.1
"""Joint of the Panda whose target is moved, and by how much: a hand in front of the robot sinks by about 6 cm."""
BYSTANDER = (
    "objects=[{name: bystander, category: can}]",
    "task.regions.0={object: microwave, center_m: [0.68, 0.0], half_extent_m: [0.0, 0.0], yaw_deg: 0.0, "
    "height_m: [0.0, 0.0]}",
    "+task.regions.1={object: bystander, center_m: [0.52, 0.0], half_extent_m: [0.0, 0.0]}",
)
"""Overrides of `open_microwave`: a can stands where its door swings."""


def collect(task: str, out: Path, *overrides: str) -> DataSet:
    return unlatch.collect(unlatch.load(task, "executor=serial", "pictures=0", *overrides), episodes=1, out=str(out))


def lower(action: ArmAction, arm: ArmModel) -> ArmAction:
    """Returns an action with the target of the shoulder turned so that the hand is lower."""
    q, offset = action.joint_targets, LOWER_RAD * (np.arange(7) == SHOULDER)
    turned = [ArmAction.of(targets, action.gripper_target_m, arm.kinematics.fk) for targets in (q - offset, q + offset)]
    return min(turned, key=lambda each: float(each.T_base_ee.p[2]))


def lower_the_hand_while_placing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves the executed targets while a skill brings what it holds to its place: the hand goes too low."""
    advance = FrameLoop.advance

    def advance_lower(self: FrameLoop, arms: Mapping[str, ArmAction], *, skills: Any = (), **options: Any) -> None:
        placing: list[Skill] = [skill for skill in skills if skill.cfg.name == "place"]
        if any(skill.phase is Phase.approach for skill in placing):
            robot = self._scene.robot
            arms = {name: lower(action, arm_model(robot.cfg, robot.arm(name).cfg)) for name, action in arms.items()}
        advance(self, arms, skills=skills, **options)

    monkeypatch.setattr(FrameLoop, "advance", advance_lower)


def test_a_held_can_that_presses_a_drawer_is_a_collision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patched:
        lower_the_hand_while_placing(patched)
        data_set = collect("store_in_drawer", tmp_path / "data", "disturb=none")
    record = data_set.read(0)
    assert record.code == "collision", record.evidence
    assert record.evidence["pair"] == ["item", "drawer/drawer"]
    assert record.evidence["force_n"] > 30.0
    assert record.message.startswith("item pressed drawer/drawer with ")
    assert record.skills[-1]["first_violation"]["view"] == "item.other_objects"
    assert not any(
        array.max() > 1.0 for key, array in record.arrays.items() if "environment.force_max" in key or "forbid" in key
    ), "a view of the robot shows it, too"
    assert check_data_set(data_set) == []


@pytest.fixture(scope="module")
def swept(collected: Callable[..., Path]) -> DataSet:
    """An episode in which the door of a microwave swings against a can that stands before it."""
    return DataSet.open(collected("open_microwave", *BYSTANDER))


def test_a_can_that_an_opening_door_touches_is_a_collision(swept: DataSet) -> None:
    record = swept.read(0)
    assert record.code == "collision", record.evidence
    assert record.evidence["pair"] == ["bystander", "microwave/door"]
    assert record.message.endswith("(allowed 1 N) while in phase follow")
    assert record.arrays["contacts.bystander.furniture.force_mean_n"][0] > 1.0, "its weight"
    assert check_data_set(swept) == []


def test_the_rule_can_be_switched_off(swept: DataSet, tmp_path: Path) -> None:
    data_set = collect("open_microwave", tmp_path / "data", *BYSTANDER, "skills.0.scene_force_threshold_n=null")
    record = data_set.read(0)
    assert record.success, record.evidence
    assert "scene_force_threshold_n" not in record.skills[0]
    assert not any(key.startswith("contacts.bystander.") for key in record.arrays), "nothing judges these forces"
    assert check_data_set(data_set) == []


def test_a_policy_is_judged_by_the_same_rule(swept: DataSet, tmp_path: Path) -> None:
    judged = unlatch.evaluate(
        unlatch.load("open_microwave", "executor=serial", "pictures=0", *BYSTANDER),
        policy=f"recorded:{swept.path}",
        episodes=1,
        out=str(tmp_path / "judged"),
    )
    record = judged.data.read(0)
    assert (record.code, record.evidence["pair"]) == ("collision", ["bystander", "microwave/door"])


def test_a_success_is_refuted_by_the_forces_on_a_bystander(swept: DataSet) -> None:
    record = swept.read(0)
    row = int(np.argmax(record.arrays["contacts.bystander.other_objects.force_max_n"] > 1.0))
    verdict = recompute_success(record)
    assert (verdict.code, verdict.evidence["frame"]) == ("collision", row + 1)
    assert verdict.evidence["view"] == "bystander.other_objects"
    hidden = replace(
        record, arrays={**record.arrays, "contacts.bystander.other_objects.force_max_n": np.zeros(record.n_actions)}
    )
    assert recompute_success(hidden).code != "collision"


def test_an_honest_can_is_pressed_only_by_its_weight_and_the_hand(episode: Callable[..., EpisodeRecord]) -> None:
    record = episode("place_can")
    assert record.success, record.evidence
    sustained = record.arrays["contacts.can.furniture.force_sustained_n"]
    assert 1.0 < sustained[0] < 5.0
    assert sustained.max() < sustained[0] + 5.0
    assert record.arrays["contacts.can.furniture.force_max_n"].max() > sustained.max(), (
        "an impact is no sustained force"
    )
    assert not record.arrays["contacts.can.other_objects.force_max_n"].any()


def test_a_lower_force_is_found_by_a_replay_and_a_missing_array_at_once(swept: DataSet) -> None:
    record = swept.read(0)
    key = "contacts.bystander.other_objects.force_max_n"
    lower = {**record.arrays, key: np.minimum(record.arrays[key], 0.5)}
    with EpisodeRunner(config_of(swept)) as runner:
        (problem,) = replay_problems(runner, replace(record, arrays=lower))
    assert problem.startswith(f"'{key}' is 0.5 at frame ")
    assert "by a replay of its actions" in problem
    without = {name: array for name, array in record.arrays.items() if name != key}
    assert check_record(replace(record, arrays=without)) == [f"array '{key}' is missing."]
