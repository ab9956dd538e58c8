"""Sweeps: what jobs are called, where they go, and that launchers run each of them."""

import json
import re
import sys
from collections.abc import Callable

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.hydra import Hydra
from omegaconf import DictConfig, OmegaConf

from unlatch import command_table
from unlatch.configs.config_files import config_dir
from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.extras import install_command
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, OK
from unlatch.workflows.runs.hydra_launcher import HydraLauncher
from unlatch.workflows.runs.schema import SERIAL
from unlatch.workflows.runs.sweep import (
    JOBS_FILES,
    LAUNCHERS,
    LOGS,
    SweepJob,
    default_folder,
    job_name,
    read_job,
    varied_indices,
    write_jobs,
)
from unlatch.workflows.viewing.episode_files import commands_of

JOBS = [
    ["task=open_drawer", "robot=xarm6", "seed=1", "world.solver_iterations=50"],
    ["task=close_drawer", "robot=xarm6", "seed=2", "world.solver_iterations=100"],
]


def settings_of(name: str) -> dict:
    return yaml.safe_load((config_dir() / "launcher" / f"{name}.yaml").read_text())


def test_jobs_are_named_after_the_values_that_differ():
    varied = varied_indices(JOBS)
    names = [job_name(job, varied, default="x") for job in JOBS]
    assert names == ["open_drawer-seed1-solver_iterations50", "close_drawer-seed2-solver_iterations100"]
    assert default_folder(JOBS[0], varied) == "data/sweep-task-seed-solver_iterations"
    assert job_name(JOBS[0], [], default="open_drawer") == "open_drawer", "a single one after its task"
    assert job_name(["object.category=oven"], [0], default="x") == "categoryoven", "a key with a dot explains its value"
    away = [job_name([word], [0], default="x") for word in ("object.root=../../x", "object.root=/tmp")]
    assert away == ["root.._.._x", "root_tmp"], "none leads out of its folder"
    # the single part of all parts names its job as one of several does
    (one,) = [["object=box.urdf", "skill=open", "part=drawer"]]
    varied = varied_indices([one], given=["object=box.urdf", "skill=open", "part=all"])
    assert job_name(one, varied, default="open_drawer") == "drawer"
    assert default_folder(one, varied) == "data/sweep-part"
    assert varied_indices([one], given=one) == []  # a part that is named is no sweep


def test_waiting_jobs_keep_their_list_if_another_sweep_uses_the_folder(tmp_path):
    queued = write_jobs(tmp_path, [SweepJob("a", ("list", "tasks"))])
    other = write_jobs(tmp_path, [SweepJob("b", ("list", "skills"))])
    assert read_job(queued, 0) == SweepJob("a", ("list", "tasks"))
    assert read_job(other, 0) == SweepJob("b", ("list", "skills"))
    assert write_jobs(tmp_path, [SweepJob("a", ("list", "tasks"))]) == queued


def test_failed_jobs_are_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(HydraLauncher, "launch", lambda *_, **__: [OK, -15])
    words = ["collect", "-m", "task=close_drawer", "seed=1,2", "launcher=joblib", f"sweep_dir={tmp_path / 's'}"]
    assert command_table.main(words) == FAILED
    assert "1 of 2 jobs failed. Their finished episodes are kept" in capsys.readouterr().err


def test_every_launcher_has_its_file_and_its_file_its_launcher():
    names = {path.stem for path in (config_dir() / "launcher").glob("*.yaml")}
    assert names == {SERIAL, *LAUNCHERS.names()}
    assert all(settings_of(name)["name"] == name for name in names)


@pytest.mark.parametrize("name", LAUNCHERS.names())
def test_the_settings_of_a_file_are_those_of_the_launcher(name, tmp_path):
    pytest.importorskip(LAUNCHERS.load(name).module)
    content = settings_of(name)
    if name == "slurm":
        content["settings"]["additional_parameters"] = {"gres": "gpu:1"}
    overrides = LAUNCHERS.load(name).overrides(
        tmp_path / "sweep-0.json", 1, content["settings"], codes=tmp_path, at_once=content.get("jobs_at_once")
    )
    with initialize_config_dir(config_dir=str(config_dir()), version_base="1.3"):
        launcher = compose("sweep_job", overrides, return_hydra_config=True).hydra.launcher
    for key, value in content["settings"].items():
        assert value is None or launcher[key] == value


def test_without_slurm_the_missing_program_is_named(tmp_path, monkeypatch):
    pytest.importorskip(LAUNCHERS.load("slurm").module)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="'sbatch' is not on this machine"):
        LAUNCHERS.load("slurm").launch(tmp_path, 1, {}, at_once=None)


@pytest.mark.parametrize("name", LAUNCHERS.names())
def test_a_missing_plugin_is_named_with_its_extra(name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, LAUNCHERS.load(name).module, None)
    with pytest.raises(PluginError, match=re.escape(install_command(LAUNCHERS.load(name).extra))):
        LAUNCHERS.load(name).launch(tmp_path, 1, {}, at_once=None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["joblib", pytest.param("slurm_local", marks=pytest.mark.heavy)])
def test_every_job_runs_and_its_exit_code_is_reported(name, tmp_path):
    pytest.importorskip(LAUNCHERS.load(name).module)
    jobs = [SweepJob("a", ("--version",)), SweepJob("b", ("nonsense",)), SweepJob("c", ("list", "skills"))]
    codes = LAUNCHERS.load(name).launch(write_jobs(tmp_path, jobs), 3, settings_of(name)["settings"], at_once=2)
    assert codes == [OK, BAD_INPUT, OK]
    assert "Unknown command 'nonsense'" in (tmp_path / LOGS / "b.log").read_text()
    assert "artpreplan" in (tmp_path / LOGS / "c.log").read_text()


@pytest.mark.slow
@pytest.mark.integration
def test_a_sweep_writes_one_data_set_for_each_job_into_one_folder(tmp_path):
    pytest.importorskip(LAUNCHERS.load("joblib").module)
    common = ["episodes=1", "pictures=0", "launcher=joblib", f"sweep_dir={tmp_path / 's'}"]
    assert command_table.main(["collect", "-m", "task=close_drawer", "seed=1,2", *common]) == OK
    sets = {path.name: DataSet.open(path) for path in (tmp_path / "s").glob("seed*")}
    assert {name: len(data_set) for name, data_set in sets.items()} == {"seed1": 1, "seed2": 1}
    assert {job["name"] for job in json.loads(next((tmp_path / "s").glob(JOBS_FILES)).read_text())} == set(sets)
    assert sets["seed2"].header["config"]["seed"] == 2


def test_the_command_of_a_swept_data_set_names_its_own_values(tmp_path):
    words = ["unlatch", "collect", "-m", "task=open_drawer,close_drawer", "seed=1,2", "sweep_dir=s", "pictures=0"]
    config = {"task": {"name": "close_drawer"}, "seed": 2}
    with DataSet.create_or_resume(tmp_path / "a", header={"config": config}, info={"command": words}) as data_set:
        again = commands_of(data_set)["make it again"]
    assert again == "unlatch collect task=close_drawer seed=2 'only=[NUMBER]' out=data/again"


def test_a_launcher_that_loses_a_job_reports_the_others(tmp_path, monkeypatch):
    jobs = [SweepJob("a", ("--version",)), SweepJob("b", ("nonsense",)), SweepJob("c", ("--version",))]

    def two_jobs_then_gone(self: Hydra, config_name: str, task: Callable[[DictConfig], int], words: list[str]) -> None:
        given = dict(word.split("=", 1) for word in words)
        for number in (0, 1):
            cfg = {"job": number, "jobs": given["jobs"].strip("'"), "codes": given["codes"].strip("'")}
            task(OmegaConf.create(cfg))
        raise RuntimeError("a worker was killed")

    monkeypatch.setattr(Hydra, "multirun", two_jobs_then_gone)
    launcher = HydraLauncher("basic", module="hydra", extra="none")
    notes: list[str] = []
    codes = launcher.launch(write_jobs(tmp_path, jobs), 3, {}, at_once=None, notify=notes.append)
    assert codes == [OK, BAD_INPUT, FAILED]
    assert "lost 1 of 3 jobs before their end: a worker was killed" in notes[0]
