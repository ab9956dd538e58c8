"""LeRobot sets: what was recorded is what is read, whole or not at all, and the same command goes on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from unlatch.simcore.errors import ConfigError, FormatVersionError, RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.config import ActionKind
from unlatch.simcore.recording.export.exporter import ExportReport, run_export
from unlatch.simcore.recording.export.lerobot import FloatType, LeRobotCfg, LeRobotExporter, LeRobotSet
from unlatch.simcore.recording.export.trajectory import ExportSource, Trajectory
from unlatch.simcore.recording.observed_scene import ObservedScene

ARM = "panda.left"
MakeSet = Callable[..., DataSet]
MakeRecord = Callable[..., EpisodeRecord]


def export(data_set: DataSet, out: Path, **keys: Any) -> ExportReport:
    cfg = LeRobotCfg(**keys)
    return run_export(LeRobotExporter(ExportSource(data_set, cfg), cfg), out)


def expected_columns(record: EpisodeRecord) -> dict[str, np.ndarray]:
    """Written from the record alone, without the code under test."""
    a, (skill,) = record.arrays, record.skills
    joint = [a[f"objects.microwave.joint_{what}"][:-1, 1:] for what in ("positions", "velocities")]
    pose = [a[f"objects.microwave.root_{what}"][:-1] for what in ("position", "quat_xyzw")]
    points = [a[f"keypoints.microwave.{skill['part']}.{name}"][:-1] for name in ("head", "tail")]
    return {
        "observation.state": np.hstack(
            [a[f"robots.{ARM}.joint_positions"][:-1], a[f"robots.{ARM}.gripper_opening"][:-1]]
        ),
        "observation.environment_state": np.hstack([*pose, *joint]),
        "observation.keypoints": np.hstack(points),
        "action": np.hstack([a[f"actions.{ARM}.joint_targets"], a[f"actions.{ARM}.gripper_target"]]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("float_type", FloatType)
def test_what_was_recorded_is_what_is_read(tmp_path: Path, make_set: MakeSet, float_type: FloatType):
    data_set = make_set([0, 1, 4])
    report = export(data_set, tmp_path / "out", float_type=float_type)
    found = LeRobotSet.open(tmp_path / "out")
    assert (report.taken, report.frames, len(found)) == (3, 12 + 13 + 16, 3)
    for index, number in enumerate([0, 1, 4]):
        record, columns = data_set.read(number), found.read(index)
        for key, values in expected_columns(record).items():
            assert columns[key].dtype == float_type.name
            np.testing.assert_array_equal(columns[key], values.astype(float_type.name), err_msg=key)
        np.testing.assert_array_equal(columns["frame_index"], np.arange(record.n_actions))
        np.testing.assert_allclose(columns["timestamp"], np.arange(record.n_actions) / 30, atol=1e-6)
        assert found.language(index) == record.language[0]
        assert set(columns["episode_index"]) == {index}
    everything = np.concatenate([found.read(index)["index"] for index in range(3)])
    np.testing.assert_array_equal(everything, np.arange(report.frames))


def test_point_clouds_are_read_as_points_and_their_statistics_are_those_of_all_points(
    tmp_path: Path,
    make_set: MakeSet,
    make_task_record: MakeRecord,
    make_scene: Callable[[Pose], ObservedScene],
):
    data_set, cfg, scene = (
        make_set([make_task_record(n) for n in (0, 1)]),
        LeRobotCfg(point_cloud=20),
        make_scene(Pose.identity()),
    )
    source = ExportSource(data_set, cfg, scene_of=lambda _: scene)
    run_export(LeRobotExporter(source, cfg), tmp_path / "out")
    wanted = [each.columns["observation.point_cloud"].values[:-1] for each in source.trajectories()]
    found = LeRobotSet.open(tmp_path / "out")
    assert found.info["features"]["observation.point_cloud"]["shape"] == [20, 4]
    for index, values in enumerate(wanted):
        np.testing.assert_array_equal(found.read(index)["observation.point_cloud"], values)
    stats = json.loads((tmp_path / "out" / "meta" / "stats.json").read_text())["observation.point_cloud"]
    points = np.concatenate(wanted).reshape(-1, 4)
    np.testing.assert_allclose(stats["mean"], points.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(stats["max"], points.max(axis=0), atol=1e-6)
    assert "20 points on the visual surface of the object" in (tmp_path / "out" / "README.md").read_text()


def test_numbers_have_names(tmp_path: Path, make_set: MakeSet):
    export(make_set([0]), tmp_path / "out")
    features = LeRobotSet.open(tmp_path / "out").info["features"]
    assert features["action"]["names"][0] == "left.panda_joint1.position"
    assert features["action"]["names"][-1] == features["observation.state"]["names"][-1] == "left.gripper"
    assert features["observation.environment_state"]["names"][-2:] == [
        "microwave.part0.position",
        "microwave.part0.velocity",
    ]
    assert features["observation.keypoints"]["names"][:3] == [f"microwave.part0.head.{axis}" for axis in "xyz"]
    for feature in features.values():
        assert feature["names"] is None or [len(feature["names"])] == feature["shape"]


def test_an_episode_tells_what_it_is(tmp_path: Path, make_set: MakeSet, make_record: MakeRecord):
    data_set = make_set([make_record(0), make_record(1, success=False), make_record(2)])
    export(data_set, tmp_path / "out", all=True)
    rows = LeRobotSet.open(tmp_path / "out").episodes
    assert [row["success"] for row in rows] == [True, False, True]
    assert [row["code"] for row in rows] == [None, "slipped", None]
    assert [row["seed"] for row in rows] == [1000, 1001, 1002]
    assert rows[1]["robot"] == "panda"
    assert rows[1]["object"] == ["microwave=microwave:1"]
    assert rows[1]["part"] == ["microwave.door"]
    assert rows[1]["phrasings"] == ["open the microwave, way 1", "open it"]


def test_only_successes_are_exported_unless_asked(tmp_path: Path, make_set: MakeSet, make_record: MakeRecord):
    data_set = make_set([make_record(0, success=False), make_record(1), make_record(2)])
    report = export(data_set, tmp_path / "out")
    assert (report.taken, report.left_out) == (2, 1)
    assert [row["unlatch/number"] for row in LeRobotSet.open(tmp_path / "out").episodes] == [1, 2]
    assert export(data_set, tmp_path / "one", only=[2, 0]).taken == 1
    with pytest.raises(RecordingError, match=r"only=\[7\] names episode 7, which is not in"):
        export(data_set, tmp_path / "none", only=[7])
    with pytest.raises(RecordingError, match=r"nothing to export.*1 attempts, none of them successful"):
        export(data_set, tmp_path / "none", only=[0])
    assert not (tmp_path / "none").exists()


def test_statistics_are_those_of_the_frames(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0, 1, 2])
    export(data_set, tmp_path / "out", float_type=FloatType.float64)
    stats = json.loads((tmp_path / "out" / "meta" / "stats.json").read_text())
    actions = np.concatenate([expected_columns(data_set.read(number))["action"] for number in range(3)])
    wanted = {"min": actions.min(axis=0), "max": actions.max(axis=0), "mean": actions.mean(axis=0)}
    wanted |= {"std": actions.std(axis=0), "q10": np.quantile(actions, 0.1, axis=0)}
    for name, value in wanted.items():
        np.testing.assert_allclose(stats["action"][name], value, rtol=1e-9, err_msg=name)
    assert stats["action"]["count"] == [len(actions)]
    first = LeRobotSet.open(tmp_path / "out").episodes[0]
    np.testing.assert_allclose(first["stats/action/max"], actions[:12].max(axis=0))


def test_the_same_command_adds_what_is_missing(tmp_path: Path, make_set: MakeSet):
    export(make_set([0, 1]), tmp_path / "out")
    data_set = make_set([2])
    report = export(data_set, tmp_path / "out")
    assert (report.taken, report.there) == (1, 2)
    assert export(data_set, tmp_path / "out").taken == 0
    found = LeRobotSet.open(tmp_path / "out")
    assert [row["unlatch/number"] for row in found.episodes] == [0, 1, 2]
    assert found.tasks == ["open the microwave, way 0", "open the microwave, way 1"]
    for index in range(3):
        wanted = expected_columns(data_set.read(index))["action"].astype(np.float32)
        np.testing.assert_array_equal(found.read(index)["action"], wanted)
        assert found.language(index) == found.tasks[found.read(index)["task_index"][0]]
    assert found.info["total_frames"] == 12 + 13 + 14
    assert json.loads((tmp_path / "out/meta/stats.json").read_text())["action"]["count"] == [39]
    assert list(tmp_path.glob(".*")) == []


def test_another_data_set_is_added_only_with_append(tmp_path: Path, make_set: MakeSet):
    export(make_set([0]), tmp_path / "out")
    other = make_set([0], name="other", seed=1)
    with pytest.raises(RecordingError, match=r"has episodes of other data sets.*append=true"):
        export(other, tmp_path / "out")
    assert export(other, tmp_path / "out", append=True).taken == 1
    assert len(LeRobotSet.open(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"action": ActionKind.joint_delta}, "features.action.names"),
        ({"keypoints": False}, "features.observation.keypoints"),
        ({"float_type": FloatType.float64}, "features.action.dtype=float32, this export has float64"),
    ],
)
def test_other_columns_are_not_added(tmp_path: Path, make_set: MakeSet, keys: dict[str, Any], said: str):
    data_set = make_set([0, 1])
    export(data_set, tmp_path / "out", only=[0])
    before = sorted(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    with pytest.raises(RecordingError, match=said):
        export(data_set, tmp_path / "out", **keys)
    assert sorted(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()) == before


def test_what_is_there_and_no_set_is_left_alone(tmp_path: Path, make_set: MakeSet):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    data_set = make_set([0])
    with pytest.raises(RecordingError, match=r"exists already.*Choose another out="):
        export(data_set, tmp_path / "out")
    with pytest.raises(RecordingError, match="is the data set or contains it"):
        export(data_set, data_set.path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_an_export_that_fails_leaves_nothing(tmp_path: Path, make_set: MakeSet, make_record: MakeRecord):
    record = make_record(1)
    del record.arrays[f"robots.{ARM}.gripper_opening"]
    data_set = make_set([make_record(0), record])
    with pytest.raises(RecordingError, match=r"Episode 1 has no 'robots.panda.left.gripper_opening'"):
        export(data_set, tmp_path / "new" / "out")
    assert not (tmp_path / "new").exists()


def test_an_export_that_was_killed_leaves_what_was_there(
    tmp_path: Path, make_set: MakeSet, monkeypatch: pytest.MonkeyPatch
):
    export(make_set([0]), tmp_path / "out")
    data_set = make_set([1, 2])
    whole = ExportSource.trajectories

    def dies(self: ExportSource, numbers: list[int] | None = None) -> Iterator[Trajectory]:
        yield next(whole(self, numbers))
        raise KeyboardInterrupt

    monkeypatch.setattr(ExportSource, "trajectories", dies)
    with pytest.raises(KeyboardInterrupt):
        export(data_set, tmp_path / "out")
    assert len(LeRobotSet.open(tmp_path / "out")) == 1
    monkeypatch.setattr(ExportSource, "trajectories", whole)
    assert export(data_set, tmp_path / "out").taken == 2
    assert list(tmp_path.glob(".*")) == []


def test_a_replacement_that_was_broken_off_is_undone(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0])
    export(data_set, tmp_path / "out")
    work = tmp_path / ".out.export"
    work.mkdir()
    (tmp_path / "out").rename(work / "old")  # killed between the two renames of a replacement
    assert export(data_set, tmp_path / "out").there == 1
    assert len(LeRobotSet.open(tmp_path / "out")) == 1
    assert not work.exists()


@pytest.mark.slow
def test_files_stay_below_their_size(tmp_path: Path, make_set: MakeSet, make_record: MakeRecord):
    records = [make_record(number, n_actions=4000) for number in range(4)]
    export(make_set(records), tmp_path / "out", data_files_size_in_mb=1, chunks_size=2)
    found = LeRobotSet.open(tmp_path / "out")
    paths = sorted((tmp_path / "out" / "data").rglob("*.parquet"))
    assert len(paths) > 2
    assert all(path.stat().st_size < 1.05 * 2**20 for path in paths)
    assert [path.parent.name for path in paths] == [f"chunk-{index // 2:03d}" for index in range(len(paths))]
    assert sum(pq.ParquetFile(path).num_row_groups for path in paths) == 4
    for index in range(4):
        np.testing.assert_array_equal(
            found.read(index)["action"], expected_columns(records[index])["action"].astype(np.float32)
        )


def test_parts_of_other_names_have_the_same_columns(tmp_path: Path, make_set: MakeSet, make_record: MakeRecord):
    data_set = make_set([make_record(0), make_record(1, part="flap")])
    export(data_set, tmp_path / "out")
    assert [row["part"] for row in LeRobotSet.open(tmp_path / "out").episodes] == [
        ["microwave.door"],
        ["microwave.flap"],
    ]
    odd = make_record(2)
    odd.arrays["keypoints.microwave.door.third"] = odd.arrays["keypoints.microwave.door.head"]
    with pytest.raises(RecordingError, match=r"Episode 2 has 9 numbers in observation.keypoints, episode 0 has 6"):
        export(make_set([odd]), tmp_path / "other")


def test_another_version_is_told_apart(tmp_path: Path, make_set: MakeSet):
    with pytest.raises(ConfigError, match="chunks_size=0 is out of range"):
        LeRobotCfg(chunks_size=0)
    with pytest.raises(RecordingError, match="is not a LeRobot set"):
        LeRobotSet.open(tmp_path)
    export(make_set([0]), tmp_path / "out")
    info = tmp_path / "out" / "meta" / "info.json"
    info.write_text(info.read_text().replace("v3.0", "v9.9"))
    with pytest.raises(FormatVersionError, match=r"has format v9.9"):
        LeRobotSet.open(tmp_path / "out")
