"""HDF5 of robomimic and of ManiSkill: the numbers of the record, under the names that their readers look for."""

import json
import re
import sys

import numpy as np
import pytest

from tests.simcore.recording.export.builders import ARM_ACTION, ROBOT, record_of, scene_of, task_record_of
from unlatch.simcore.errors import ConfigError, PluginError, RecordingError
from unlatch.simcore.extras import install_command
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.export.config import ActionKind, DeltaFrom, ExportCfg, StateKind
from unlatch.simcore.recording.export.exporter import run_export
from unlatch.simcore.recording.export.hdf5 import ManiSkillExporter, RobomimicCfg, RobomimicExporter
from unlatch.simcore.recording.export.trajectory import ExportSource


def export(exporter, data_set, cfg, out):
    """Exports a set, and returns its source."""
    source = ExportSource(data_set, cfg, scene_of=lambda _: scene_of(Pose.identity()))
    run_export(exporter(source, cfg), out)
    return source


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py")


def test_robomimic_has_the_record_to_the_bit(tmp_path, make_set, h5py):
    data_set = make_set([record_of(0), record_of(1, success=False), record_of(2)])
    cfg = RobomimicCfg(all=True, valid_every=2, state=[StateKind.joint_position])
    export(RobomimicExporter, data_set, cfg, tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5") as file:
        assert sorted(file["data"]) == ["demo_0", "demo_1", "demo_2"]
        assert file["data"].attrs["total"] == 12 + 13 + 14
        assert json.loads(file["data"].attrs["env_args"])["env_name"] == "open_microwave"
        assert "joint positions of the action" in json.loads(file["data"].attrs["conventions"])["action"]
        assert list(file["mask/valid"]) == [b"demo_1"]
        assert list(file["mask/train"]) == [b"demo_0", b"demo_2"]
        for index in range(3):
            demo, arrays = file[f"data/demo_{index}"], data_set.read(index).arrays
            assert demo.attrs["num_samples"] == len(demo["actions"]) == 12 + index
            np.testing.assert_array_equal(demo["actions"][:, :7], arrays[f"{ARM_ACTION}.joint_targets"])
            np.testing.assert_array_equal(demo["obs/state"], arrays[f"{ROBOT}.joint_positions"][:-1])
            np.testing.assert_array_equal(demo["next_obs/state"], arrays[f"{ROBOT}.joint_positions"][1:])
            assert demo["rewards"][:].sum() == float(index != 1)
            assert demo["dones"][-1] == 1


def test_maniskill_has_what_its_loader_looks_for(tmp_path, make_set, h5py):
    data_set = make_set([0, 3])
    cfg = ExportCfg(action=ActionKind.joint_delta, delta_from=DeltaFrom.state)
    export(ManiSkillExporter, data_set, cfg, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "trajectory.json").read_text())
    assert [episode["control_mode"] for episode in told["episodes"]] == ["unlatch_joint_delta_from_state"] * 2
    assert told["env_info"]["max_episode_steps"] == 15
    with h5py.File(tmp_path / "out" / "trajectory.h5") as file:
        for episode, number in zip(told["episodes"], [0, 3], strict=True):
            group, arrays = file[f"traj_{episode['episode_id']}"], data_set.read(number).arrays
            delta = arrays[f"{ARM_ACTION}.joint_targets"] - arrays[f"{ROBOT}.joint_positions"][:-1]
            np.testing.assert_array_equal(group["actions"][:, :7], delta.astype(np.float32))
            assert len(group["obs/state"]) == episode["elapsed_steps"] + 1
            assert group["success"][-1]
            assert not group["fail"][:].any()


def test_force_replaces_a_folder_of_maniskill_and_is_advised_for_nothing_else(tmp_path, make_set, h5py):
    data_set, out = make_set([0]), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    with pytest.raises(RecordingError, match=r"cannot be extended\. Choose another out=\.$"):
        export(ManiSkillExporter, data_set, ExportCfg(), out)
    with pytest.raises(RecordingError, match="is no export of this format"):
        export(ManiSkillExporter, data_set, ExportCfg(force=True), out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    export(ManiSkillExporter, data_set, ExportCfg(), tmp_path / "set")
    with pytest.raises(RecordingError, match="force=true to replace it"):
        export(ManiSkillExporter, data_set, ExportCfg(), tmp_path / "set")
    export(ManiSkillExporter, data_set, ExportCfg(force=True, keypoints=False), tmp_path / "set")
    with h5py.File(tmp_path / "set" / "trajectory.h5") as file:
        assert "keypoints" not in file["traj_0/obs"]


def test_force_replaces_a_file_of_robomimic_that_unlatch_wrote_and_no_other(tmp_path, make_set, h5py):
    data_set, out = make_set([0]), tmp_path / "out.hdf5"

    def write_text():
        out.write_text("no HDF5")

    def write_theirs():
        with h5py.File(out, "w") as file:
            file.create_group("data").attrs["total"] = 7

    for write_other in (write_text, write_theirs):
        write_other()
        before = out.read_bytes()
        with pytest.raises(RecordingError, match="is no export of this format"):
            export(RobomimicExporter, data_set, RobomimicCfg(force=True), out)
        assert out.read_bytes() == before
    out.unlink()
    export(RobomimicExporter, data_set, RobomimicCfg(), out)
    export(RobomimicExporter, data_set, RobomimicCfg(force=True, keypoints=False), out)
    with h5py.File(out) as file:
        assert "keypoints" not in file["data/demo_0/obs"]


def test_point_clouds_are_arrays_of_points(tmp_path, make_set, h5py):
    data_set = make_set([task_record_of(0)])
    source = export(RobomimicExporter, data_set, RobomimicCfg(point_cloud=20), tmp_path / "out.hdf5")
    export(ManiSkillExporter, data_set, ExportCfg(point_cloud=20), tmp_path / "out")
    wanted = next(source.trajectories()).columns["observation.point_cloud"].values
    with h5py.File(tmp_path / "out.hdf5") as file:
        demo = file["data/demo_0"]
        np.testing.assert_array_equal(demo["obs/point_cloud"], wanted[:-1])
        np.testing.assert_array_equal(demo["next_obs/point_cloud"], wanted[1:])
        assert demo["obs/point_cloud"].dtype == np.float32
        assert demo["states"].ndim == 2
    with h5py.File(tmp_path / "out" / "trajectory.h5") as file:
        np.testing.assert_array_equal(file["traj_0/obs/point_cloud"], wanted)


def test_wrong_targets_and_options_are_reported(tmp_path, make_set, h5py, monkeypatch):
    cfg, data_set = RobomimicCfg(), make_set([0])
    (tmp_path / "there.hdf5").write_text("mine")
    for name, message in (
        ("out.h5", r"does not end in .hdf5, the format that is written. Rename it"),
        ("there.hdf5", r"exists already. Expected a new target"),
    ):
        with pytest.raises(RecordingError, match=message):
            export(RobomimicExporter, data_set, cfg, tmp_path / name)
    assert (tmp_path / "there.hdf5").read_text() == "mine"
    with pytest.raises(ConfigError, match="valid_every=1 is out of range"):
        RobomimicCfg(valid_every=1)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(PluginError, match=re.escape(install_command("hdf5"))):
        RobomimicExporter(ExportSource(data_set, cfg), cfg)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "there.hdf5"]
