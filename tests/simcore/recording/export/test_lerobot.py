"""LeRobot sets: what was recorded is what is read, whole or not at all, and the same command goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.simcore.recording.export.builders import ARM_ACTION, ROBOT, record_of, scene_of, task_record_of
from unlatch import command_table
from unlatch.simcore.errors import ConfigError, FormatVersionError, RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.export.config import ActionKind
from unlatch.simcore.recording.export.exporter import run_export
from unlatch.simcore.recording.export.lerobot import FloatType, LeRobotCfg, LeRobotExporter, LeRobotSet
from unlatch.simcore.recording.export.trajectory import ExportSource

REPOSITORY = Path(__file__).resolve().parents[4]


def export(data_set, out, *, scene=None, **keys):
    cfg = LeRobotCfg(**keys)
    return run_export(LeRobotExporter(ExportSource(data_set, cfg, scene_of=lambda _: scene), cfg), out)


def numbers_of(out):
    return [row["unlatch/number"] for row in LeRobotSet.open(out).episodes]


def expected_columns(record):
    """Written from the record alone, without the code under test."""
    a, (skill,) = record.arrays, record.skills
    joint = [a[f"objects.microwave.joint_{what}"][:-1, 1:] for what in ("positions", "velocities")]
    pose = [a[f"objects.microwave.root_{what}"][:-1] for what in ("position", "quat_xyzw")]
    points = [a[f"keypoints.microwave.{skill['part']}.{name}"][:-1] for name in ("head", "tail")]
    return {
        "observation.state": np.hstack([a[f"{ROBOT}.joint_positions"], a[f"{ROBOT}.gripper_opening"]])[:-1],
        "observation.environment_state": np.hstack([*pose, *joint]),
        "observation.keypoints": np.hstack(points),
        "action": np.hstack([a[f"{ARM_ACTION}.joint_targets"], a[f"{ARM_ACTION}.gripper_target"]]),
    }


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


class TestContent:
    @pytest.mark.parametrize("float_type", FloatType)
    def test_what_was_recorded_is_what_is_read(self, out, make_set, float_type):
        data_set = make_set([record_of(0), record_of(1, success=False), record_of(2)])
        report = export(data_set, out, all=True, float_type=float_type)
        found = LeRobotSet.open(out)
        assert (report.taken, report.frames, len(found)) == (3, 12 + 13 + 14, 3)
        records = [data_set.read(number) for number in range(3)]
        for index, record in enumerate(records):
            columns = found.read(index)
            for key, values in expected_columns(record).items():
                assert columns[key].dtype == float_type.name
                np.testing.assert_array_equal(columns[key], values.astype(float_type.name), err_msg=key)
            np.testing.assert_array_equal(columns["frame_index"], np.arange(record.n_actions))
            np.testing.assert_allclose(columns["timestamp"], np.arange(record.n_actions) / 30, atol=1e-6)
            assert found.language(index) == record.language[0]
            assert set(columns["episode_index"]) == {index}
        everything = np.concatenate([found.read(index)["index"] for index in range(3)])
        np.testing.assert_array_equal(everything, np.arange(report.frames))
        self.check_names(found.info["features"])
        self.check_rows(found.episodes)
        if float_type is FloatType.float64:
            self.check_statistics(out, found, [expected_columns(record)["action"] for record in records])

    @staticmethod
    def check_names(features):
        names = {key: feature["names"] for key, feature in features.items()}
        assert names["action"][0] == "panda_joint1.pos"
        assert names["action"][-1] == names["observation.state"][-1] == "gripper.pos"
        assert names["observation.environment_state"][-2:] == [f"microwave.part0.{x}" for x in ("pos", "vel")]
        assert names["observation.keypoints"][:3] == [f"microwave.part0.head.{axis}" for axis in "xyz"]
        assert all(names[key] is None or [len(names[key])] == features[key]["shape"] for key in names)

    @staticmethod
    def check_rows(rows):
        assert [(row["success"], row["code"], row["seed"]) for row in rows] == [
            (True, None, 1000),
            (False, "slipped", 1001),
            (True, None, 1002),
        ]
        told = {key: rows[1][key] for key in ("robot", "object", "part", "phrasings")}
        assert told == {
            "robot": "panda",
            "object": ["microwave=microwave:1"],
            "part": ["microwave.door"],
            "phrasings": ["open the microwave, way 1", "open it"],
        }

    @staticmethod
    def check_statistics(out, found, by_episode):
        stats, actions = json.loads((out / "meta" / "stats.json").read_text()), np.concatenate(by_episode)
        wanted = {"min": actions.min(axis=0), "max": actions.max(axis=0), "mean": actions.mean(axis=0)}
        wanted |= {"std": actions.std(axis=0), "q10": np.quantile(actions, 0.1, axis=0)}
        for name, value in wanted.items():
            np.testing.assert_allclose(stats["action"][name], value, rtol=1e-9, err_msg=name)
        assert stats["action"]["count"] == [len(actions)]
        np.testing.assert_allclose(found.episodes[0]["stats/action/max"], by_episode[0].max(axis=0))

    def test_point_clouds_are_read_as_points_and_their_statistics_are_those_of_all_points(self, out, make_set):
        data_set, scene = make_set([task_record_of(n) for n in (0, 1)]), scene_of(Pose.identity())
        export(data_set, out, scene=scene, point_cloud=20)
        source = ExportSource(data_set, LeRobotCfg(point_cloud=20), scene_of=lambda _: scene)
        wanted = [each.columns["observation.point_cloud"].values[:-1] for each in source.trajectories()]
        found = LeRobotSet.open(out)
        assert found.info["features"]["observation.point_cloud"]["shape"] == [20, 4]
        for index, values in enumerate(wanted):
            np.testing.assert_array_equal(found.read(index)["observation.point_cloud"], values)
        stats = json.loads((out / "meta" / "stats.json").read_text())["observation.point_cloud"]
        points = np.concatenate(wanted).reshape(-1, 4)
        np.testing.assert_allclose(stats["mean"], points.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(stats["max"], points.max(axis=0), atol=1e-6)
        assert "20 points on the visual surface of the object" in (out / "README.md").read_text()

    def test_parts_of_other_names_have_the_same_columns(self, out, tmp_path, make_set):
        export(make_set([record_of(0), record_of(1, part="flap")]), out)
        assert [row["part"] for row in LeRobotSet.open(out).episodes] == [["microwave.door"], ["microwave.flap"]]
        odd = record_of(2)
        odd.arrays["keypoints.microwave.door.third"] = odd.arrays["keypoints.microwave.door.head"]
        with pytest.raises(RecordingError, match=r"Episode 2 has 9 numbers in observation.keypoints, episode 0 has 6"):
            export(make_set([odd]), tmp_path / "other")

    @pytest.mark.slow
    def test_files_stay_below_their_size(self, out, make_set):
        import pyarrow.parquet as pq

        records = [record_of(number, n_actions=4000) for number in range(4)]
        export(make_set(records), out, data_files_size_in_mb=1, chunks_size=2)
        paths = sorted((out / "data").rglob("*.parquet"))
        assert len(paths) > 2
        assert all(path.stat().st_size < 1.05 * 2**20 for path in paths)
        assert [path.parent.name for path in paths] == [f"chunk-{index // 2:03d}" for index in range(len(paths))]
        assert sum(pq.ParquetFile(path).num_row_groups for path in paths) == 4
        for index, record in enumerate(records):
            wanted = expected_columns(record)["action"].astype(np.float32)
            np.testing.assert_array_equal(LeRobotSet.open(out).read(index)["action"], wanted)


class TestGrowth:
    def test_only_successes_are_exported_unless_asked(self, out, tmp_path, make_set):
        data_set = make_set([record_of(0, success=False), record_of(1), record_of(2)])
        report = export(data_set, out)
        assert (report.taken, report.left_out) == (2, 1)
        assert numbers_of(out) == [1, 2]
        assert export(data_set, tmp_path / "one", only=[2, 0]).taken == 1
        for only, message in (
            ([7], r"only=\[7\] names episode 7, which is not in"),
            ([0], r"nothing to export.*1 attempts, none of them successful"),
        ):
            with pytest.raises(RecordingError, match=message):
                export(data_set, tmp_path / "none", only=only)
        assert not (tmp_path / "none").exists()

    def test_the_same_command_adds_what_is_missing_and_another_data_set_needs_append(self, out, tmp_path, make_set):
        export(make_set([0, 1]), out)
        data_set = make_set([2])
        report = export(data_set, out)
        assert (report.taken, report.there) == (1, 2)
        assert export(data_set, out).taken == 0
        found = LeRobotSet.open(out)
        assert numbers_of(out) == [0, 1, 2]
        assert found.tasks == ["open the microwave, way 0", "open the microwave, way 1"]
        for index in range(3):
            wanted = expected_columns(data_set.read(index))["action"].astype(np.float32)
            np.testing.assert_array_equal(found.read(index)["action"], wanted)
            assert found.language(index) == found.tasks[found.read(index)["task_index"][0]]
        assert found.info["total_frames"] == 12 + 13 + 14
        assert json.loads((out / "meta/stats.json").read_text())["action"]["count"] == [39]
        assert list(tmp_path.glob(".*")) == []
        other = make_set([0], name="other", seed=1)
        with pytest.raises(RecordingError, match=r"has episodes of other data sets.*append=true"):
            export(other, out)
        assert export(other, out, append=True).taken == 1
        assert len(LeRobotSet.open(out)) == 4

    def test_force_replaces_an_export_and_nothing_else(self, out, tmp_path, make_set):
        data_set = make_set([0, 1])
        export(data_set, out)
        assert export(data_set, out, keypoints=False, force=True).taken == 2
        assert not any("keypoints" in name for name in LeRobotSet.open(out).info["features"])
        other = tmp_path / "other"
        other.mkdir()
        (other / "mine.txt").write_text("kept")
        with pytest.raises(RecordingError, match="is no export of this format"):
            export(data_set, other, force=True)
        assert (other / "mine.txt").read_text() == "kept"

    def test_force_removes_no_episodes_of_other_data_sets(self, out, make_set, capsys):
        export(make_set([0, 1]), out)
        other = make_set([0], name="other", seed=1)
        words = ["export", str(other.path), f"out={out}"]
        assert command_table.main([*words, "append=true", "force=true"]) == 2
        assert "append=true adds to an export, and force=true replaces it" in capsys.readouterr().err
        assert command_table.main([*words, "append=true"]) == 0
        assert "without images; render=NAME adds those" in capsys.readouterr().err
        with pytest.raises(RecordingError, match="has episodes of other data sets, which force=true would remove"):
            export(other, out, force=True)
        assert len(LeRobotSet.open(out)) == 3

    def test_other_columns_are_not_added_and_another_version_is_not_read(self, out, tmp_path, make_set):
        data_set = make_set([0, 1])
        export(data_set, out, only=[0])
        before = sorted(path.read_bytes() for path in out.rglob("*") if path.is_file())
        for keys, said in (
            ({"action": ActionKind.joint_delta}, "features.action.names"),
            (
                {"keypoints": False},
                r"Only there: observation.keypoints.*; only in this export: none\. Expected the same columns\. Exp",
            ),
            ({"float_type": FloatType.float64}, "features.action.dtype=float32, this export has float64"),
        ):
            with pytest.raises(RecordingError, match=said):
                export(data_set, out, **keys)
        assert sorted(path.read_bytes() for path in out.rglob("*") if path.is_file()) == before
        info = out / "meta" / "info.json"
        whole = json.loads(info.read_text())
        action, film = whole["features"]["action"], {"dtype": "video", "shape": [8, 8, 3], "names": None}
        for changed, said in (
            (
                {"action": {**action, "info": {"video.codec": "av1"}}},
                r"features.action.video.codec=av1, .* has absent\.",
            ),
            ({"observation.images.front": film}, r"Only there: observation.images.front; .*: none\..* render=NAME\."),
        ):
            info.write_text(json.dumps({**whole, "features": {**whole["features"], **changed}}))
            with pytest.raises(RecordingError, match=said):
                export(data_set, out)
        info.write_text(json.dumps({**whole, "codebase_version": "v9.9"}))
        with pytest.raises(FormatVersionError, match=r"has format v9.9"):
            LeRobotSet.open(out)
        with pytest.raises(RecordingError, match="is not a LeRobot set"):
            LeRobotSet.open(tmp_path)
        with pytest.raises(ConfigError, match="chunks_size=0 is out of range"):
            LeRobotCfg(chunks_size=0)


class TestFailure:
    def test_what_is_there_and_no_set_is_left_alone(self, out, make_set):
        out.mkdir()
        (out / "mine.txt").write_text("mine")
        data_set = make_set([0])
        with pytest.raises(RecordingError, match=r"exists already.*Choose another out="):
            export(data_set, out)
        with pytest.raises(RecordingError, match="is the data set or contains it"):
            export(data_set, data_set.path)
        assert [path.name for path in out.iterdir()] == ["mine.txt"]

    def test_an_export_that_fails_leaves_nothing(self, tmp_path, make_set):
        record = record_of(1)
        del record.arrays[f"{ROBOT}.gripper_opening"]
        with pytest.raises(RecordingError, match=r"Episode 1 has no 'robots.panda.left.gripper_opening'"):
            export(make_set([record_of(0), record]), tmp_path / "new" / "out")
        assert not (tmp_path / "new").exists()

    def test_an_export_that_is_broken_off_leaves_what_was_there(self, out, tmp_path, make_set, monkeypatch):
        export(make_set([0]), out)
        data_set, whole = make_set([1, 2]), ExportSource.trajectories

        def dies(self, numbers=None):
            yield next(whole(self, numbers))
            raise KeyboardInterrupt

        monkeypatch.setattr(ExportSource, "trajectories", dies)
        with pytest.raises(KeyboardInterrupt):
            export(data_set, out)
        assert numbers_of(out) == [0]
        monkeypatch.setattr(ExportSource, "trajectories", whole)
        work = tmp_path / ".out.export"
        work.mkdir(exist_ok=True)
        out.rename(work / "old")  # killed between the two renames of a replacement
        report = export(data_set, out)
        assert (report.taken, report.there) == (2, 1)
        assert list(tmp_path.glob(".*")) == []

    @pytest.mark.slow
    def test_an_export_that_is_killed_leaves_what_was_there_and_goes_on(self, out, tmp_path, make_set):
        drafted = tmp_path / ".out.export" / "draft" / "data" / "chunk-000" / "file-001.parquet"
        arguments = ["export", str(tmp_path / "data"), f"out={out}"]
        make_set([0])
        assert command_table.main(arguments) == 0
        data_set = make_set([record_of(number, n_actions=400) for number in range(1, 20)])
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = subprocess.Popen([sys.executable, "-m", "unlatch", *arguments], cwd=REPOSITORY, **quiet)
        while running.poll() is None and not drafted.exists():
            time.sleep(0.002)
        os.kill(running.pid, signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
        assert drafted.exists()
        assert numbers_of(out) == [0]
        assert command_table.main(arguments) == 0
        assert numbers_of(out) == list(range(20))
        wanted = data_set.read(19).arrays[f"{ARM_ACTION}.joint_targets"].astype(np.float32)
        np.testing.assert_array_equal(LeRobotSet.open(out).read(19)["action"][:, :7], wanted)
        assert not (tmp_path / ".out.export").exists()
