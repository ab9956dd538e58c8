"""Actions and states by each convention lead back to what was recorded."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.columns import COMPONENTS, STATE, convert_rotations
from unlatch.simcore.recording.export.config import (
    ActionKind,
    ActionSource,
    DeltaFrom,
    ExportCfg,
    RotationForm,
    StateKind,
)
from unlatch.simcore.recording.export.trajectory import ACTION, ExportSource, TrajectoryMaker

MakeRecord = Callable[..., EpisodeRecord]
LEFT = "panda.left"


def action_of(record: EpisodeRecord, **keys: object) -> np.ndarray:
    return TrajectoryMaker(ExportCfg(**keys), {}).make(record)[0].columns[ACTION].values


def rotations(values: np.ndarray, form: RotationForm) -> Rotation:
    """Read back, each form by its definition."""
    if form is RotationForm.quat_xyzw:
        return Rotation.from_quat(values)
    if form is RotationForm.rotvec:
        return Rotation.from_rotvec(values)
    if form is RotationForm.euler_xyz:
        return Rotation.from_euler("ZYX", values[:, ::-1])
    a, b = values[:, :3], values[:, 3:]
    return Rotation.from_matrix(np.stack([a, b, np.cross(a, b)], axis=2))


def assert_same(found: Rotation, wanted: Rotation) -> None:
    assert np.max((found * wanted.inv()).magnitude()) < 1e-9


@pytest.mark.parametrize("form", RotationForm)
def test_every_form_of_a_rotation_leads_back_to_it(form: RotationForm):
    quats = Rotation.random(200, random_state=0).as_quat()
    values = convert_rotations(quats, form)
    assert values.shape == (200, len(COMPONENTS[form]))
    assert_same(rotations(values, form), Rotation.from_quat(quats))


@pytest.mark.parametrize("delta_from", DeltaFrom)
def test_changes_of_joints_lead_back_to_the_targets(make_record: MakeRecord, delta_from: DeltaFrom):
    record = make_record(0)
    q, targets = record.arrays[f"robots.{LEFT}.joint_positions"], record.arrays[f"actions.{LEFT}.joint_targets"]
    delta = action_of(record, action=ActionKind.joint_delta, delta_from=delta_from)[:, :7]
    back = q[:-1] + delta if delta_from is DeltaFrom.state else q[0] + np.cumsum(delta, axis=0)
    np.testing.assert_allclose(back, targets, atol=1e-12)


@pytest.mark.parametrize("form", RotationForm)
@pytest.mark.parametrize("delta_from", DeltaFrom)
def test_changes_of_the_hand_lead_back_to_its_targets(
    make_record: MakeRecord, delta_from: DeltaFrom, form: RotationForm
):
    record = make_record(1)
    delta = action_of(record, action=ActionKind.ee_delta, delta_from=delta_from, rotation=form)
    p, quat = (record.arrays[f"robots.{LEFT}.ee_{what}"] for what in ("position", "quat_xyzw"))
    targets, target_quats = (record.arrays[f"actions.{LEFT}.ee_target_{what}"] for what in ("position", "quat_xyzw"))
    changes = rotations(delta[:, 3:-1], form)
    for t in range(len(targets)):
        from_target = delta_from is DeltaFrom.target and t > 0
        old_p, old_quat = (targets[t - 1], target_quats[t - 1]) if from_target else (p[t], quat[t])
        np.testing.assert_allclose(old_p + delta[t, :3], targets[t], atol=1e-12)
        assert_same(changes[t] * Rotation.from_quat(old_quat), Rotation.from_quat(target_quats[t]))


def test_poses_are_those_of_the_record_to_the_bit(make_record: MakeRecord):
    record = make_record(0)
    arrays = record.arrays
    action = action_of(record, action=ActionKind.ee_pose)
    np.testing.assert_array_equal(action[:, :3], arrays[f"actions.{LEFT}.ee_target_position"])
    np.testing.assert_array_equal(action[:, 3:7], arrays[f"actions.{LEFT}.ee_target_quat_xyzw"])
    np.testing.assert_array_equal(action[:, 7:], arrays[f"actions.{LEFT}.gripper_target"])


def test_a_state_is_put_together_in_the_order_that_was_asked_for(make_record: MakeRecord):
    record = make_record(0)
    kinds = [StateKind.gripper, StateKind.tcp_pose, StateKind.joint_effort]
    column = TrajectoryMaker(ExportCfg(state=kinds), {}).make(record)[0].columns[STATE]
    assert column.names[:3] == ("left.gripper", "left.tcp.x", "left.tcp.y")
    assert column.names[-1] == "left.joint6.effort"
    np.testing.assert_array_equal(column.values[:, 8:], record.arrays[f"robots.{LEFT}.joint_efforts"])


def test_two_arms_come_one_after_the_other(make_record: MakeRecord):
    record = make_record(0)
    for key in [key for key in record.arrays if LEFT in key]:
        record.arrays[key.replace(".left.", ".right.")] = record.arrays[key] + 1.0
    column = TrajectoryMaker(ExportCfg(), {}).make(record)[0].columns[ACTION]
    assert [column.names[index].split(".")[0] for index in (0, 7, 8, 15)] == ["left", "left", "right", "right"]
    np.testing.assert_array_equal(column.values[:, 8:], column.values[:, :8] + 1.0)


def test_a_convention_is_told_in_words():
    told = ExportCfg(action=ActionKind.ee_delta, rotation=RotationForm.rot6d).convention()["action"]
    assert told.startswith("ee_delta: change of the pose of the ee link")
    assert "counted from the target of the frame before" in told
    assert "orientation as rot6d: first two columns" in told
    with pytest.raises(ConfigError, match=r"state=\[\] cannot be exported"):
        ExportCfg(state=[])


def test_labels_are_the_action_unless_executed_actions_are_asked_for(make_record: MakeRecord):
    record = make_record(0)
    executed = record.arrays[f"actions.{LEFT}.joint_targets"]
    for key in ("joint_targets", "ee_target_position", "ee_target_quat_xyzw", "gripper_target"):
        record.arrays[f"labels.{LEFT}.{key}"] = record.arrays[f"actions.{LEFT}.{key}"].copy()
    record.arrays[f"labels.{LEFT}.joint_targets"] += 0.01
    np.testing.assert_array_equal(action_of(record)[:, :7], executed + 0.01)
    np.testing.assert_array_equal(action_of(record, action_source=ActionSource.executed)[:, :7], executed)


def with_labels(record: EpisodeRecord, valid: list[int]) -> EpisodeRecord:
    """A record in which a policy acted: labels 0.01 rad beside its actions, in the rows of `valid`."""
    for key in ("joint_targets", "ee_target_position", "ee_target_quat_xyzw", "gripper_target"):
        record.arrays[f"labels.{LEFT}.{key}"] = record.arrays[f"actions.{LEFT}.{key}"].copy()
    record.arrays[f"labels.{LEFT}.joint_targets"] += 0.01
    record.arrays[f"labels.{LEFT}.valid"] = np.isin(np.arange(record.n_actions), valid)
    return record


def test_every_run_of_rows_with_labels_is_a_trajectory_and_rows_without_are_left_out(make_record: MakeRecord):
    record = make_record(0)
    n, begun = record.n_actions, 2
    record.skills[0]["frame_start"] = begun
    record = with_labels(record, [*range(begun), begun + 2, begun + 3, *range(n - 3, n)])
    first, last = TrajectoryMaker(ExportCfg(), {}).make(record)
    for made, rows in ((first, slice(begun + 2, begun + 4)), (last, slice(n - 3, n))):
        assert made.number == record.number
        targets = record.arrays[f"actions.{LEFT}.joint_targets"][rows]
        np.testing.assert_array_equal(made.columns[ACTION].values[:, :7], targets + 0.01)
        states = record.arrays[f"robots.{LEFT}.joint_positions"][rows.start : rows.stop + 1]
        np.testing.assert_array_equal(made.columns[STATE].values[:, :7], states)
    assert (first.success, last.success) == (False, True)  # the first does not end where the episode ends
    executed = TrajectoryMaker(ExportCfg(action_source=ActionSource.executed), {}).make(record)
    assert [made.n_actions for made in executed] == [n]


def test_changes_of_labels_count_from_the_targets_that_were_executed(make_record: MakeRecord):
    record = with_labels(make_record(0), list(range(100)))
    targets, q = record.arrays[f"actions.{LEFT}.joint_targets"], record.arrays[f"robots.{LEFT}.joint_positions"]
    delta = action_of(record, action=ActionKind.joint_delta, delta_from=DeltaFrom.target)[:, :7]
    np.testing.assert_allclose(delta, targets + 0.01 - np.vstack([q[:1], targets[:-1]]))


def test_episodes_of_a_policy_without_labels_are_refused(make_set: Callable[..., DataSet], make_record: MakeRecord):
    data_set = make_set([with_labels(make_record(0), [])])
    with pytest.raises(RecordingError, match=r"a policy acted in all frames of 1 episodes.*label_every"):
        _ = ExportSource(data_set, ExportCfg()).layout
