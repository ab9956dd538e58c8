"""Actions and states by each convention lead back to what was recorded; values that describe the task; their page."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.simcore.recording.export.builders import (
    ARM_ACTION,
    ROBOT,
    T_WORLD_BASE,
    add_right_arm,
    record_of,
    scene_of,
    task_record_of,
)
from unlatch.objects.annotation import KEYPOINT_NAMES
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.export.columns import CLOUD, COMPONENTS, STATE, convert_rotations
from unlatch.simcore.recording.export.config import (
    ActionKind,
    ActionSource,
    DeltaFrom,
    ExportCfg,
    RotationForm,
    StateKind,
)
from unlatch.simcore.recording.export.trajectory import ACTION, ExportSource, TrajectoryMaker

PAGE = Path(__file__).parents[4] / "docs" / "export.md"
LABELLED = ("joint_targets", "ee_target_position", "ee_target_quat_xyzw", "gripper_target")


def columns(record, *, base=None, **options):
    scene = scene_of(base or Pose.identity())
    (made,) = TrajectoryMaker(ExportCfg(**options), {}, scene_of=lambda _: scene).make(record)
    return made.columns


def action_of(record, **options):
    return columns(record, **options)[ACTION].values


def state(record, kind, **options):
    return columns(record, state=[kind], **options)[STATE].values


def pose_at(arrays, key, row):
    """The pose of `<key>_position` and `<key>_quat_xyzw` at a state frame."""
    return Pose.from_quat_xyzw(arrays[f"{key}_position"][row], arrays[f"{key}_quat_xyzw"][row])


def rotations(values, form):
    """Read back, each form by its definition."""
    if form is RotationForm.quat_xyzw:
        return Rotation.from_quat(values)
    if form is RotationForm.rotvec:
        return Rotation.from_rotvec(values)
    if form is RotationForm.euler_xyz:
        return Rotation.from_euler("ZYX", values[:, ::-1])
    a, b = values[:, :3], values[:, 3:]
    return Rotation.from_matrix(np.stack([a, b, np.cross(a, b)], axis=2))


def assert_same(found, wanted):
    assert np.max((found * wanted.inv()).magnitude()) < 1e-9


class TestConventions:
    @pytest.mark.parametrize("form", RotationForm)
    def test_every_form_of_a_rotation_leads_back_to_it(self, form):
        quats = Rotation.random(200, random_state=0).as_quat()
        values = convert_rotations(quats, form)
        assert values.shape == (200, len(COMPONENTS[form]))
        assert_same(rotations(values, form), Rotation.from_quat(quats))

    @pytest.mark.parametrize("delta_from", DeltaFrom)
    def test_changes_of_joints_lead_back_to_the_targets(self, delta_from):
        record = record_of(0)
        q, targets = record.arrays[f"{ROBOT}.joint_positions"], record.arrays[f"{ARM_ACTION}.joint_targets"]
        delta = action_of(record, action=ActionKind.joint_delta, delta_from=delta_from)[:, :7]
        back = q[:-1] + delta if delta_from is DeltaFrom.state else q[0] + np.cumsum(delta, axis=0)
        np.testing.assert_allclose(back, targets, atol=1e-12)

    @pytest.mark.parametrize("form", RotationForm)
    @pytest.mark.parametrize("delta_from", DeltaFrom)
    def test_changes_of_the_hand_lead_back_to_its_targets(self, delta_from, form):
        record = record_of(1)
        record.arrays[f"{ARM_ACTION}.ee_target_quat_xyzw"][::2] *= -1.0  # the same rotations
        delta = action_of(record, action=ActionKind.ee_delta, delta_from=delta_from, rotation=form)
        p, quat = (record.arrays[f"{ROBOT}.ee_{what}"] for what in ("position", "quat_xyzw"))
        targets, target_quats = (record.arrays[f"{ARM_ACTION}.ee_target_{what}"] for what in ("position", "quat_xyzw"))
        changes = rotations(delta[:, 3:-1], form)
        assert form is not RotationForm.quat_xyzw or (delta[:, 6] >= 0.0).all()
        for t in range(len(targets)):
            from_target = delta_from is DeltaFrom.target and t > 0
            old_p, old_quat = (targets[t - 1], target_quats[t - 1]) if from_target else (p[t], quat[t])
            np.testing.assert_allclose(old_p + delta[t, :3], targets[t], atol=1e-12)
            assert_same(changes[t] * Rotation.from_quat(old_quat), Rotation.from_quat(target_quats[t]))

    def test_poses_are_those_of_the_record_to_the_bit(self):
        record = record_of(0)
        keys = ("ee_target_position", "ee_target_quat_xyzw", "gripper_target")
        wanted = np.hstack([record.arrays[f"{ARM_ACTION}.{key}"] for key in keys])
        np.testing.assert_array_equal(action_of(record, action=ActionKind.ee_pose), wanted)

    def test_a_state_is_put_together_in_the_order_that_was_asked_for_and_two_arms_one_after_the_other(self):
        record = record_of(0)
        column = columns(record, state=[StateKind.gripper, StateKind.tcp_pose, StateKind.joint_effort])[STATE]
        assert column.names[:3] == ("gripper.pos", "tcp.x", "tcp.y")
        assert column.names[-1] == "joint6.effort"
        np.testing.assert_array_equal(column.values[:, 8:], record.arrays[f"{ROBOT}.joint_efforts"])
        column = columns(add_right_arm(record, 1.0))[ACTION]
        assert [column.names[index].split(".")[0] for index in (0, 7, 8, 15)] == ["left", "left", "right", "right"]
        np.testing.assert_array_equal(column.values[:, 8:], column.values[:, :8] + 1.0)

    def test_a_convention_is_told_in_words(self):
        told = ExportCfg(action=ActionKind.ee_delta, rotation=RotationForm.rot6d).convention()["action"]
        assert told.startswith("ee_delta: change of the pose of the ee link")
        assert "counted from the target of the frame before" in told
        assert "orientation as rot6d: first two columns" in told


def with_labels(record, valid=None):
    """Adds labels 0.01 rad beside the actions, in the rows of `valid` if they are of a policy that acted."""
    for key in LABELLED:
        record.arrays[f"labels.panda.left.{key}"] = record.arrays[f"{ARM_ACTION}.{key}"].copy()
    record.arrays["labels.panda.left.joint_targets"] += 0.01
    if valid is not None:
        record.arrays["labels.panda.left.valid"] = np.isin(np.arange(record.n_actions), valid)
    return record


class TestLabels:
    def test_they_are_the_action_unless_executed_actions_are_asked_for(self):
        record = with_labels(record_of(0))
        executed = record.arrays[f"{ARM_ACTION}.joint_targets"]
        np.testing.assert_array_equal(action_of(record)[:, :7], executed + 0.01)
        np.testing.assert_array_equal(action_of(record, action_source=ActionSource.executed)[:, :7], executed)

    def test_every_run_of_rows_with_labels_is_a_trajectory_and_rows_without_are_left_out(self):
        record = record_of(0)
        n, begun = record.n_actions, 2
        record.skills[0]["frame_start"] = begun
        record = with_labels(record, [*range(begun), begun + 2, begun + 3, *range(n - 3, n)])
        first, last = TrajectoryMaker(ExportCfg(), {}).make(record)
        for made, rows in ((first, slice(begun + 2, begun + 4)), (last, slice(n - 3, n))):
            assert made.number == record.number
            targets = record.arrays[f"{ARM_ACTION}.joint_targets"][rows]
            np.testing.assert_array_equal(made.columns[ACTION].values[:, :7], targets + 0.01)
            states = record.arrays[f"{ROBOT}.joint_positions"][rows.start : rows.stop + 1]
            np.testing.assert_array_equal(made.columns[STATE].values[:, :7], states)
        assert (first.success, last.success) == (False, True)  # the first does not end where the episode ends
        executed = TrajectoryMaker(ExportCfg(action_source=ActionSource.executed), {}).make(record)
        assert [made.n_actions for made in executed] == [n]

    def test_their_changes_count_from_the_targets_that_were_executed(self):
        record = with_labels(record_of(0), list(range(100)))
        targets, q = record.arrays[f"{ARM_ACTION}.joint_targets"], record.arrays[f"{ROBOT}.joint_positions"]
        delta = action_of(record, action=ActionKind.joint_delta, delta_from=DeltaFrom.target)[:, :7]
        np.testing.assert_allclose(delta, targets + 0.01 - np.vstack([q[:1], targets[:-1]]))

    def test_episodes_of_a_policy_without_labels_are_refused(self, make_set):
        data_set = make_set([with_labels(record_of(0), [])])
        with pytest.raises(RecordingError, match=r"a policy acted in all frames of 1 episodes.*label_every"):
            _ = ExportSource(data_set, ExportCfg()).layout


def read_rows(first):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:end]]


@pytest.fixture
def record():
    return task_record_of(0)


class TestTask:
    def test_the_page_lists_every_value_of_the_state_with_its_size(self, record):
        n, rows = 7, {row[0].strip("`"): row[1] for row in read_rows("value")}
        assert list(rows) == [kind.name for kind in StateKind]
        for kind in StateKind:
            size = state(record, kind).shape[1]
            if kind is StateKind.hand_keypoints:  # the synthetic part has two keypoints
                size *= len(KEYPOINT_NAMES) // 2
            assert rows[kind.name] in {str(size), {n: "n", n + 1: "n + 1"}.get(size)}, kind

    def test_the_last_action_and_forces_on_the_fingers_are_those_of_the_frame_before(self, record):
        a = record.arrays
        values = state(record, StateKind.last_action)
        before = np.hstack([a[f"{ARM_ACTION}.joint_targets"], a[f"{ARM_ACTION}.gripper_target"]])
        at_first = np.hstack([a[f"{ROBOT}.joint_positions"][0], a[f"{ROBOT}.gripper_target"][0]])
        np.testing.assert_array_equal(values, np.vstack([at_first, before]))
        values, contacts = state(record, StateKind.finger_forces), "contacts.panda.left"
        np.testing.assert_array_equal(values[0], 0.0)
        np.testing.assert_array_equal(values[1:, 0], a[f"{contacts}.fingers.force_mean_n"])
        np.testing.assert_array_equal(values[1:, 2], a[f"{contacts}.microwave.fingers_link.force_mean_n"])

    def test_openness_is_the_share_of_the_way_to_open(self, record):
        s = record.arrays["objects.microwave.joint_positions"]
        s[:, 1] = np.linspace(0.0, -1.5, len(s))
        found = state(record, StateKind.openness)[:, 0]
        np.testing.assert_allclose(found, np.linspace(0.0, 1.0, len(s)), atol=1e-12)
        del record.skills[0]["s_open"]
        with pytest.raises(RecordingError, match="skill 'open' without a part"):
            state(record, StateKind.openness)

    def test_keypoints_in_the_frame_of_the_hand_lead_back_to_the_world(self, record):
        values, arrays = state(record, StateKind.hand_keypoints), record.arrays
        for row in range(record.n_actions + 1):
            wanted = [arrays[f"keypoints.microwave.door.{name}"][row] for name in ("head", "tail")]
            found = pose_at(arrays, f"{ROBOT}.tcp", row) @ values[row].reshape(2, 3)
            np.testing.assert_allclose(found, wanted, atol=1e-12)

    def test_geometry_is_in_the_base_frame_of_the_arm_and_moves_with_the_part(self, record):
        column = columns(record, state=[StateKind.geometry], base=T_WORLD_BASE)[STATE]

        def numbers(name, row):
            prefix = f"geometry.{name}"
            return column.values[row, [n == prefix or n.startswith(f"{prefix}.") for n in column.names]]

        for row in range(record.n_actions + 1):
            T_world_root = pose_at(record.arrays, "objects.microwave.root", row)
            s = record.arrays["objects.microwave.joint_positions"][row, 1]
            T_world_door = T_world_root @ Pose.from_rpy([0.2, 0.0, 0.0], [0.0, 0.0, s])
            points = {
                "grip.center": T_world_door @ np.array([0.05, 0.35, 0.0]),
                "part.center": T_world_door @ np.array([0.0, 0.2, 0.0]),
                "hinge.point": T_world_root @ np.array([0.2, 0.0, 0.0]),
            }
            for name, wanted in points.items():
                np.testing.assert_allclose(T_WORLD_BASE @ numbers(name, row), wanted, atol=1e-12)
            for name, wanted in {"part.normal": T_world_door.R[:, 0], "hinge.axis": -T_world_root.R[:, 2]}.items():
                np.testing.assert_allclose(T_WORLD_BASE.rotate(numbers(name, row)), wanted, atol=1e-12)
            np.testing.assert_allclose(numbers("joint.opening", row), [-s], atol=1e-12)
        for name, wanted in {"joint.limits": [-0.1, 1.6], "joint.span": [1.5], "part.kind": [1, 0, 0, 0, 0, 0]}.items():
            np.testing.assert_allclose(numbers(name, 0), wanted)

    def test_the_current_skill_chooses_the_part_and_the_first_one_before_it(self, record):
        record.skills.append({**record.skills[0], "name": "close", "s_open": -3.0})
        record.arrays["skills.index"][-3:] = 1
        n = record.n_actions + 1
        np.testing.assert_array_equal(
            state(record, StateKind.skill), [[1, 0, 0, 0, 0, 0, 0]] * (n - 3) + [[0, 1, 0, 0, 0, 0, 0]] * 3
        )
        s = record.arrays["objects.microwave.joint_positions"][:, 1]
        wanted = np.concatenate([s[:-3] / -1.5, s[-3:] / -3.0])
        np.testing.assert_allclose(state(record, StateKind.openness)[:, 0], wanted)

    @pytest.mark.parametrize(("name", "row"), [("search", [1, 0, 0, 0, 0, 0, 0]), ("press", [0, 0, 0, 0, 0, 0, 0])])
    def test_a_skill_that_moves_no_arm_counts_as_the_next_one_and_one_of_a_plugin_has_no_number(
        self, record, name, row
    ):
        record.skills.insert(0, {**record.skills[0], "name": name})
        np.testing.assert_array_equal(state(record, StateKind.skill)[0], row)

    def test_a_skill_that_carries_an_object_has_its_place_and_the_part_of_the_next_skill(self, record):
        """Or that of the last one before, if no later skill moves a part."""
        opened = record.skills[0]
        pick = {**opened, "name": "pick", "object": "can", "part": None, "s_closed": None}
        record.skills[:] = [pick, opened, {**pick, "name": "place"}]
        frames = record.n_actions + 1
        can = record.arrays["objects.can.root_position"] = np.linspace([0.3, 0.0, 0.1], [0.5, 0.2, 0.4], frames)
        index = record.arrays["skills.index"] = np.arange(frames) * 3 // frames
        hand = state(record, StateKind.hand_keypoints, objects=False)
        for row in np.flatnonzero(index != 1):
            found = pose_at(record.arrays, f"{ROBOT}.tcp", row) @ hand[row].reshape(2, 3)
            np.testing.assert_allclose(found, [can[row]] * 2, atol=1e-12)
        options = {"state": [StateKind.openness, StateKind.geometry], "objects": False}
        carried = columns(record, **options)[STATE].values
        record.skills[:] = [opened] * 3
        np.testing.assert_array_equal(carried, columns(record, **options)[STATE].values)
        record.skills[:] = [pick] * 3
        with pytest.raises(RecordingError, match="skill 'pick' without a part"):
            state(record, StateKind.openness, objects=False)

    def test_each_arm_has_the_part_of_its_own_skill(self, record):
        n = record.n_actions + 1
        add_right_arm(record).skills.append({**record.skills[0], "name": "hold"})
        record.arrays["skills.index"] = np.full(n, 1)
        record.arrays["skills.left.index"] = np.full(n, 0)
        record.arrays["skills.right.index"] = np.where(np.arange(n) < 5, -1, 1)
        column = columns(record, state=[StateKind.skill])[STATE]
        assert column.names[7] == "right.skill.open"
        np.testing.assert_array_equal(column.values, [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]] * n)

    @pytest.mark.parametrize("kind", [StateKind.skill, StateKind.hand_keypoints, StateKind.geometry])
    def test_a_record_without_its_scene_is_refused(self, record, kind):
        with pytest.raises(RecordingError, match="comes without its scene"):
            TrajectoryMaker(ExportCfg(state=[kind]), {}).make(record)


class TestPointCloud:
    def test_points_move_with_their_link_and_say_whether_they_are_on_the_part(self, record):
        arrays, n = record.arrays, record.n_actions + 1
        for key in ("position", "quat_xyzw"):
            arrays[f"objects.microwave.root_{key}"][:] = arrays[f"objects.microwave.root_{key}"][0]
        arrays["objects.microwave.joint_positions"][:] = np.outer(np.linspace(0.0, -1.5, n), [0.0, 1.0])
        column = columns(record, point_cloud=200, base=T_WORLD_BASE)[CLOUD]
        assert column.names == ("x", "y", "z", "part")
        assert (column.values.shape, column.values.dtype) == ((n, 200, 4), np.float32)
        on_part = column.values[0, :, 3] == 1.0
        assert 0 < on_part.sum() < 200
        np.testing.assert_array_equal(column.values[..., 3], np.tile(on_part, (n, 1)))
        np.testing.assert_array_equal(column.values[-1, ~on_part], column.values[0, ~on_part])
        T_base_root = T_WORLD_BASE.inverse() @ pose_at(arrays, "objects.microwave.root", 0)
        T_base_door = T_base_root @ Pose.from_rpy([0.2, 0.0, 0.0], [0.0, 0.0, -1.5])
        at_door = T_base_door.inverse() @ column.values[-1, on_part, :3].astype(float)
        outside = np.abs(at_door) - np.array([0.01, 0.2, 0.15])  # half the size of the door
        np.testing.assert_allclose(outside.max(axis=1), 0.0, atol=1e-6)

    def test_points_are_the_same_for_the_same_episode_and_each_of_several_arms_has_its_own(self, record):
        clouds = [columns(each, point_cloud=50)[CLOUD].values for each in (record, task_record_of(0))]
        np.testing.assert_array_equal(clouds[0], clouds[1])
        assert {f"{CLOUD}.left", f"{CLOUD}.right"} <= set(columns(add_right_arm(record), point_cloud=50))
