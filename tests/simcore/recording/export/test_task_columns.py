"""Values of the state that describe the task: their sizes, frames and the table of the page."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.annotation import KEYPOINT_NAMES
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.columns import CLOUD, STATE, Column
from unlatch.simcore.recording.export.config import ExportCfg, StateKind
from unlatch.simcore.recording.export.trajectory import TrajectoryMaker
from unlatch.simcore.recording.observed_scene import GEOMETRY, ObservedScene

MakeRecord = Callable[..., EpisodeRecord]
PAGE = Path(__file__).parents[4] / "docs" / "export.md"
ROBOT, ARM = "panda", "left"


class Export:
    """Exports synthetic records."""

    def __init__(self, make_scene: Callable[[Pose], ObservedScene]) -> None:
        self._make_scene = make_scene

    def columns(self, record: EpisodeRecord, cfg: ExportCfg, *, base: Pose | None = None) -> dict[str, Column]:
        scene = self._make_scene(Pose.identity() if base is None else base)
        return TrajectoryMaker(cfg, {}, scene_of=lambda _: scene).make(record)[0].columns

    def state(self, record: EpisodeRecord, kind: StateKind, *, base: Pose | None = None) -> Column:
        return self.columns(record, ExportCfg(state=[kind]), base=base)[STATE]

    def values(self, record: EpisodeRecord, kind: StateKind) -> np.ndarray:
        return self.state(record, kind).values


@pytest.fixture
def export(make_scene: Callable[[Pose], ObservedScene]) -> Export:
    return Export(make_scene)


def geometry_of(export: Export, record: EpisodeRecord, *, base: Pose | None = None) -> dict[str, np.ndarray]:
    """Returns (T+1, numbers) by entry."""
    column = export.state(record, StateKind.geometry, base=base)
    found = {}
    for entry in GEOMETRY:
        prefix = f"{ARM}.geometry.{entry.name}"
        places = [place for place, name in enumerate(column.names) if name == prefix or name.startswith(f"{prefix}.")]
        found[entry.name] = column.values[:, places]
    return found


def read_rows(first: str) -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_page_lists_every_value_of_the_state_with_its_size(make_task_record: MakeRecord, export: Export):
    record, n = make_task_record(0), 7
    rows = {row[0].strip("`"): row[1] for row in read_rows("value")}
    assert list(rows) == [kind.name for kind in StateKind]
    for kind in StateKind:
        size = export.values(record, kind).shape[1]
        if kind is StateKind.hand_keypoints:  # the synthetic part has two keypoints
            size *= len(KEYPOINT_NAMES) // 2
        assert rows[kind.name] in {str(size), {n: "n", n + 1: "n + 1"}.get(size)}, kind


def test_the_last_action_is_that_of_the_frame_before(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    values, arrays = export.values(record, StateKind.last_action), record.arrays
    np.testing.assert_array_equal(values[1:, :7], arrays[f"actions.{ROBOT}.{ARM}.joint_targets"])
    np.testing.assert_array_equal(values[1:, 7:], arrays[f"actions.{ROBOT}.{ARM}.gripper_target"])
    np.testing.assert_array_equal(values[0, :7], arrays[f"robots.{ROBOT}.{ARM}.joint_positions"][0])
    np.testing.assert_array_equal(values[0, 7:], arrays[f"robots.{ROBOT}.{ARM}.gripper_target"][0])


def test_forces_on_the_fingers_are_those_of_the_frame_before(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    values, arrays = export.values(record, StateKind.finger_forces), record.arrays
    np.testing.assert_array_equal(values[0], 0.0)
    np.testing.assert_array_equal(values[1:, 0], arrays[f"contacts.{ROBOT}.{ARM}.fingers.force_mean_n"])
    np.testing.assert_array_equal(values[1:, 2], arrays[f"contacts.{ROBOT}.{ARM}.microwave.fingers_link.force_mean_n"])


def test_openness_is_the_share_of_the_way_to_open(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    s = record.arrays["objects.microwave.joint_positions"]
    s[:, 1] = np.linspace(0.0, -1.5, len(s))
    np.testing.assert_allclose(
        export.values(record, StateKind.openness)[:, 0], np.linspace(0.0, 1.0, len(s)), atol=1e-12
    )


def test_keypoints_in_the_frame_of_the_hand_lead_back_to_the_world(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    values, arrays = export.values(record, StateKind.hand_keypoints), record.arrays
    for row in range(record.n_actions + 1):
        T_world_tcp = Pose.from_quat_xyzw(
            *(arrays[f"robots.{ROBOT}.{ARM}.tcp_{word}"][row] for word in ("position", "quat_xyzw"))
        )
        wanted = [arrays[f"keypoints.microwave.door.{name}"][row] for name in ("head", "tail")]
        np.testing.assert_allclose(T_world_tcp @ values[row].reshape(2, 3), wanted, atol=1e-12)


def test_geometry_is_in_the_base_frame_of_the_arm_and_moves_with_the_part(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    arrays = record.arrays
    base = Pose.from_rpy([0.3, -0.2, 0.1], [0.0, 0.0, 0.7])
    found = geometry_of(export, record, base=base)
    for row in range(record.n_actions + 1):
        T_world_root = Pose.from_quat_xyzw(
            *(arrays[f"objects.microwave.root_{word}"][row] for word in ("position", "quat_xyzw"))
        )
        s = arrays["objects.microwave.joint_positions"][row, 1]
        T_world_door = T_world_root @ Pose.from_rpy([0.2, 0.0, 0.0], [0.0, 0.0, s])
        np.testing.assert_allclose(
            base @ found["grip.center"][row], T_world_door @ np.array([0.05, 0.35, 0.0]), atol=1e-12
        )
        np.testing.assert_allclose(
            base @ found["part.center"][row], T_world_door @ np.array([0.0, 0.2, 0.0]), atol=1e-12
        )
        np.testing.assert_allclose(
            base @ found["hinge.point"][row], T_world_root @ np.array([0.2, 0.0, 0.0]), atol=1e-12
        )
        np.testing.assert_allclose(base.rotate(found["part.normal"][row]), T_world_door.R[:, 0], atol=1e-12)
        np.testing.assert_allclose(base.rotate(found["hinge.axis"][row]), -T_world_root.R[:, 2], atol=1e-12)
        np.testing.assert_allclose(found["joint.opening"][row], [-s], atol=1e-12)
    np.testing.assert_allclose(found["joint.limits"][0], [-0.1, 1.6])
    np.testing.assert_allclose(found["joint.span"][0], [1.5])
    np.testing.assert_array_equal(found["part.kind"][0], [1, 0, 0, 0, 0, 0])


def test_the_current_skill_chooses_the_part_and_the_first_one_before_it(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    record.skills.append({**record.skills[0], "name": "close", "s_open": -3.0})
    index = record.arrays["skills.index"]
    index[-3:] = 1
    asked = export.values(record, StateKind.skill)
    np.testing.assert_array_equal(asked[: len(index) - 3], [[1, 0, 0, 0]] * (len(index) - 3))
    np.testing.assert_array_equal(asked[-3:], [[0, 1, 0, 0]] * 3)
    s = record.arrays["objects.microwave.joint_positions"][:, 1]
    wanted = np.concatenate([s[:-3] / -1.5, s[-3:] / -3.0])
    np.testing.assert_allclose(export.values(record, StateKind.openness)[:, 0], wanted)


def test_a_skill_that_moves_no_arm_counts_as_the_next_one(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    record.skills.insert(0, {**record.skills[0], "name": "search"})
    np.testing.assert_array_equal(export.values(record, StateKind.skill)[0], [1, 0, 0, 0])


def test_a_skill_of_a_plugin_has_no_number(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    record.skills.insert(0, {**record.skills[0], "name": "press"})
    np.testing.assert_array_equal(export.values(record, StateKind.skill)[0], [0, 0, 0, 0])


def test_each_arm_has_the_part_of_its_own_skill(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    for key in [key for key in record.arrays if f".{ARM}." in key]:
        record.arrays[key.replace(f".{ARM}.", ".right.")] = record.arrays[key]
    n = record.n_actions + 1
    record.skills.append({**record.skills[0], "name": "hold"})
    record.arrays["skills.index"] = np.full(n, 1)
    record.arrays["skills.left.index"] = np.full(n, 0)
    record.arrays["skills.right.index"] = np.where(np.arange(n) < 5, -1, 1)
    column = export.state(record, StateKind.skill)
    assert column.names[4] == "right.skill.open"
    np.testing.assert_array_equal(column.values, [[1, 0, 0, 0, 0, 0, 0, 1]] * n)


@pytest.mark.parametrize("kind", [StateKind.skill, StateKind.hand_keypoints, StateKind.geometry])
def test_a_record_without_its_scene_is_refused(make_task_record: MakeRecord, kind: StateKind):
    record = make_task_record(0)
    with pytest.raises(RecordingError, match="comes without its scene"):
        TrajectoryMaker(ExportCfg(state=[kind]), {}).make(record)


def test_points_move_with_their_link_and_say_whether_they_are_on_the_part(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    arrays = record.arrays
    arrays["objects.microwave.root_position"][:] = arrays["objects.microwave.root_position"][0]
    arrays["objects.microwave.root_quat_xyzw"][:] = arrays["objects.microwave.root_quat_xyzw"][0]
    arrays["objects.microwave.joint_positions"][:, 0] = 0.0
    arrays["objects.microwave.joint_positions"][:, 1] = np.linspace(0.0, -1.5, record.n_actions + 1)
    base = Pose.from_rpy([0.3, -0.2, 0.1], [0.0, 0.0, 0.7])
    column = export.columns(record, ExportCfg(point_cloud=200), base=base)[CLOUD]
    assert column.names == ("x", "y", "z", "part")
    assert column.values.shape == (record.n_actions + 1, 200, 4)
    assert column.values.dtype == np.float32
    on_part = column.values[0, :, 3] == 1.0
    assert 0 < on_part.sum() < 200
    np.testing.assert_array_equal(column.values[..., 3], np.tile(on_part, (record.n_actions + 1, 1)))
    np.testing.assert_array_equal(column.values[-1, ~on_part], column.values[0, ~on_part])
    T_base_root = base.inverse() @ Pose.from_quat_xyzw(
        arrays["objects.microwave.root_position"][0], arrays["objects.microwave.root_quat_xyzw"][0]
    )
    T_root_door = Pose.from_rpy([0.2, 0.0, 0.0], [0.0, 0.0, -1.5])
    at_door = (T_base_root @ T_root_door).inverse() @ column.values[-1, on_part, :3].astype(float)
    outside = np.abs(at_door) - np.array([0.01, 0.2, 0.15])  # half the size of the door
    np.testing.assert_allclose(outside.max(axis=1), 0.0, atol=1e-6)


def test_points_are_the_same_for_the_same_episode(make_task_record: MakeRecord, export: Export):
    clouds = [export.columns(make_task_record(0), ExportCfg(point_cloud=50))[CLOUD].values for _ in range(2)]
    np.testing.assert_array_equal(clouds[0], clouds[1])


def test_each_of_several_arms_has_a_point_cloud(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    for key in [key for key in record.arrays if f".{ARM}." in key]:
        record.arrays[key.replace(f".{ARM}.", ".right.")] = record.arrays[key]
    columns = export.columns(record, ExportCfg(point_cloud=50))
    assert {f"{CLOUD}.left", f"{CLOUD}.right"} <= set(columns)


@pytest.mark.parametrize("n", [-1, 100_001])
def test_a_wrong_number_of_points_is_refused(n: int):
    with pytest.raises(ConfigError, match=f"point_cloud={n}"):
        ExportCfg(point_cloud=n)


def test_a_skill_without_a_part_is_named_in_the_error(make_task_record: MakeRecord, export: Export):
    record = make_task_record(0)
    del record.skills[0]["s_open"]
    with pytest.raises(RecordingError, match="skill 'open' without a part"):
        export.values(record, StateKind.openness)
