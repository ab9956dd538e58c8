"""What planners are told and what lies between commands and motors: drawn, recorded, replayed, judged on the truth."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import ReplayMode, replay_deviation
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FRICTION = (
    "{view: drawer, attribute: joint_friction, operation: scaling, distribution: {type: uniform, lower: 1, upper: 1.5}}"
)
SIGNALS = (
    "{view: franka_panda, attribute: encoder_offset, distribution: {type: normal, mean: 0.0, std: 0.002}}",
    "{view: franka_panda, attribute: encoder_offset, operation: additive, gate: on_interval, interval: 1, "
    "distribution: {type: normal, mean: 0.0, std: 0.0003}}",
    "{view: franka_panda, attribute: action_latency, distribution: {type: uniform, lower: 0.02, upper: 0.05}}",
    "{view: franka_panda, attribute: action_dropped, gate: on_interval, interval: 1, "
    "distribution: {type: choice, choices: [0, 1], weights: [0.95, 0.05]}}",
)


def made(*overrides: str, rules: tuple[str, ...] = (FRICTION,), number: int = 0) -> EpisodeRecord:
    cfg = load("open_drawer", f"randomization.rules=[{','.join(rules)}]", *overrides)
    with EpisodeRunner(cfg) as runner:
        return runner.run(number)


@pytest.fixture(scope="module")
def told_the_truth() -> EpisodeRecord:
    return made()


def test_perception_noise_changes_the_plan_and_no_other_draw(told_the_truth: EpisodeRecord) -> None:
    record = made("randomization.perception.position_std_m=0.003", "randomization.perception.keypoint_std_m=0.001")
    assert check_record(record) == []
    assert record.layout == told_the_truth.layout
    assert record.applied["firings"] == told_the_truth.applied["firings"]
    applied = record.applied["sensors"]
    assert [rule["attribute"] for rule in applied["rules"]] == ["seen_position", "seen_keypoints"]
    (_, _, error), _ = applied["firings"]
    assert 0.0 < np.linalg.norm(error) < 0.02
    goals = [np.array(r.skills[0]["plan"]["keyframes"][-1]["p_base_ee"]) for r in (record, told_the_truth)]
    assert np.linalg.norm(goals[0] - goals[1]) > 1e-4
    # what is recorded of the object is the truth
    keys = [key for key in record.arrays if key.startswith(("keypoints.", "objects."))]
    assert all(np.array_equal(record.arrays[key][0], told_the_truth.arrays[key][0]) for key in keys)


def test_the_planner_gets_the_perceived_opening(told_the_truth: EpisodeRecord) -> None:
    """A drawer that it takes for 20 mm further out is grasped 20 mm further out."""
    record = made(rules=(FRICTION, "{view: drawer, attribute: seen_joints, distribution: [0.02]}"))
    assert check_record(record) == []
    assert record.layout == told_the_truth.layout
    goals = []
    for found in (record, told_the_truth):
        plan = found.skills[0]["plan"]
        goals.append(np.array(plan["keyframes"][plan["contact_pose_index"]]["p_base_ee"]))
    assert np.linalg.norm(goals[0] - goals[1]) == pytest.approx(0.02, abs=2e-3)
    key = next(key for key in record.arrays if key.startswith("objects.") and key.endswith("joint_positions"))
    assert np.array_equal(record.arrays[key][0], told_the_truth.arrays[key][0])


def test_success_is_judged_by_the_true_positions() -> None:
    """Told 15 cm beside the truth, the planner finds a way and the hand closes on nothing."""
    rule = "{view: drawer, attribute: seen_position, distribution: [0.0, 0.0, 0.15]}"
    record = made(rules=(rule,))
    assert record.skills[0]["plan"]["found"]
    assert not record.success
    assert record.code in ("grasp_missed", "collision", "motion_blocked")
    assert recompute_success(record).success is False


def test_errors_of_encoders_and_commands_are_recorded_and_replayed_exactly(told_the_truth: EpisodeRecord) -> None:
    rules = (FRICTION, *SIGNALS)
    cfg = load("open_drawer", f"randomization.rules=[{','.join(rules)}]")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
        deviation = replay_deviation(runner, record, ReplayMode.action)
    assert deviation.value == 0.0
    assert deviation.arrays > 20
    assert record.applied["firings"] == told_the_truth.applied["firings"]
    firings = record.applied["sensors"]["firings"]
    dropped = [values[0] for _, rule, values in firings if rule == 3]
    assert 0.01 < np.mean(dropped) < 0.12
    # at rest the joints stand beside their targets by what the encoders err
    offset = np.array(next(values for step, rule, values in firings if (step, rule) == (0, 0)))
    q, targets = (
        record.arrays[key]
        for key in ("robots.franka_panda.left.joint_positions", "actions.franka_panda.left.joint_targets")
    )
    assert np.abs(targets[0] - q[1] - offset).max() < 1.5e-3
    assert np.abs(offset).max() > 2e-3
