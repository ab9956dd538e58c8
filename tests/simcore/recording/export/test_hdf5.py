"""HDF5 of robomimic and of ManiSkill: the numbers of the record, under the names that their readers look for."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError, PluginError, RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.config import ActionKind, DeltaFrom, ExportCfg, StateKind
from unlatch.simcore.recording.export.exporter import run_export
from unlatch.simcore.recording.export.hdf5 import ManiSkillExporter, RobomimicCfg, RobomimicExporter
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.observed_scene import ObservedScene
from unlatch.simcore.registry import install_command

h5py = pytest.importorskip("h5py")

MakeSet = Callable[..., DataSet]
MakeRecord = Callable[..., EpisodeRecord]
LEFT = "robots.panda.left"


def test_robomimic_has_the_record_to_the_bit(tmp_path: Path, make_set: MakeSet, make_record: MakeRecord):
    data_set = make_set([make_record(0), make_record(1, success=False), make_record(2)])
    cfg = RobomimicCfg(all=True, valid_every=2, state=[StateKind.joint_position])
    run_export(RobomimicExporter(ExportSource(data_set, cfg), cfg), tmp_path / "out.hdf5")
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
            np.testing.assert_array_equal(demo["actions"][:, :7], arrays["actions.panda.left.joint_targets"])
            np.testing.assert_array_equal(demo["obs/state"], arrays[f"{LEFT}.joint_positions"][:-1])
            np.testing.assert_array_equal(demo["next_obs/state"], arrays[f"{LEFT}.joint_positions"][1:])
            assert demo["rewards"][:].sum() == float(index != 1)
            assert demo["dones"][-1] == 1


def test_maniskill_has_what_its_loader_looks_for(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0, 3])
    cfg = ExportCfg(action=ActionKind.joint_delta, delta_from=DeltaFrom.state)
    run_export(ManiSkillExporter(ExportSource(data_set, cfg), cfg), tmp_path / "out")
    told = json.loads((tmp_path / "out" / "trajectory.json").read_text())
    assert [episode["control_mode"] for episode in told["episodes"]] == ["unlatch_joint_delta_from_state"] * 2
    assert told["env_info"]["max_episode_steps"] == 15
    with h5py.File(tmp_path / "out" / "trajectory.h5") as file:
        for episode, number in zip(told["episodes"], [0, 3], strict=True):
            group, arrays = file[f"traj_{episode['episode_id']}"], data_set.read(number).arrays
            delta = arrays["actions.panda.left.joint_targets"] - arrays[f"{LEFT}.joint_positions"][:-1]
            np.testing.assert_array_equal(group["actions"][:, :7], delta.astype(np.float32))
            assert len(group["obs/state"]) == episode["elapsed_steps"] + 1
            assert group["success"][-1]
            assert not group["fail"][:].any()


def test_point_clouds_are_arrays_of_points(
    tmp_path: Path,
    make_set: MakeSet,
    make_task_record: MakeRecord,
    make_scene: Callable[[Pose], ObservedScene],
):
    data_set, scene = make_set([make_task_record(0)]), make_scene(Pose.identity())
    robomimic, maniskill = RobomimicCfg(point_cloud=20), ExportCfg(point_cloud=20)
    source = ExportSource(data_set, robomimic, scene_of=lambda _: scene)
    wanted = next(source.trajectories()).columns["observation.point_cloud"].values
    run_export(RobomimicExporter(source, robomimic), tmp_path / "out.hdf5")
    source = ExportSource(data_set, maniskill, scene_of=lambda _: scene)
    run_export(ManiSkillExporter(source, maniskill), tmp_path / "out")
    with h5py.File(tmp_path / "out.hdf5") as file:
        demo = file["data/demo_0"]
        np.testing.assert_array_equal(demo["obs/point_cloud"], wanted[:-1])
        np.testing.assert_array_equal(demo["next_obs/point_cloud"], wanted[1:])
        assert demo["obs/point_cloud"].dtype == np.float32
        assert demo["states"].ndim == 2
    with h5py.File(tmp_path / "out" / "trajectory.h5") as file:
        np.testing.assert_array_equal(file["traj_0/obs/point_cloud"], wanted)


def test_wrong_targets_and_options_are_reported(tmp_path: Path, make_set: MakeSet, monkeypatch: pytest.MonkeyPatch):
    cfg = RobomimicCfg()
    source = ExportSource(make_set([0]), cfg)
    with pytest.raises(RecordingError, match=r"does not end in .hdf5, the format that is written. Rename it"):
        run_export(RobomimicExporter(source, cfg), tmp_path / "out.h5")
    (tmp_path / "there.hdf5").write_text("mine")
    with pytest.raises(RecordingError, match=r"exists already. Expected a new target"):
        run_export(RobomimicExporter(source, cfg), tmp_path / "there.hdf5")
    assert (tmp_path / "there.hdf5").read_text() == "mine"
    with pytest.raises(ConfigError, match="valid_every=1 is out of range"):
        RobomimicCfg(valid_every=1)
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(PluginError, match=re.escape(install_command("hdf5"))):
        RobomimicExporter(source, cfg)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "there.hdf5"]
