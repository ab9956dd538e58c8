"""The groups `camera`, `planner` and `experiment`: a choice has its effect, and a mistake raises an error."""

import shlex
from pathlib import Path

import pytest

from unlatch.configs.cameras import read_render_settings
from unlatch.configs.derived_request import is_object_path
from unlatch.configs.group_files import option_names
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.solver.plan import PlanBudget
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.sweep_jobs import make_sweep_job
from unlatch.workflows.cli.terminal import parse_command_line
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import LoadedConfig
from unlatch.workflows.runs.schema import CollectCfg, PlanCfg


def jobs(words: str) -> list[LoadedConfig[CollectCfg]]:
    return load_configs("collect", CollectCfg, parse_command_line(words.split()))


def write_mine(folder: Path, group: str, text: str) -> None:
    """Writes a YAML file of the user, `mine`."""
    (folder / group).mkdir()
    (folder / group / "mine.yaml").write_text(text)


def read(words: str) -> CollectCfg:
    (job,) = jobs(f"task=open_drawer {words}")
    return job.cfg


@pytest.mark.parametrize("name", option_names("camera"))
def test_every_set_of_cameras_holds_cameras_only(name: str):
    cfg = read(f"camera={name}")
    assert cfg.camera.name == name
    assert all(isinstance(item, CameraCfg) for item in cfg.camera.cameras)
    assert bool(cfg.camera.cameras) == (name != "none")


@pytest.mark.slow
def test_cameras_are_mounted_beside_the_sensors():
    cfg = read("camera=front_wrist sensors=[imu] camera.cameras.0.width=100")
    assert [item.name for item in cfg.all_sensors().values()] == ["front", "wrist", "imu"]
    assert cfg.camera.cameras[0].width == 100


def test_records_are_rendered_by_the_cameras_of_the_recording_by_default():
    assert [camera.width for camera in read_render_settings(read("camera=realsense")).cameras] == [480, 320]


MISTAKES = [block.split("\n  ") for block in Path(__file__).with_name("mistakes.txt").read_text().split("\n\n")]
"""Words of a command line, and the whole message that they lead to."""


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_a_mistake_is_named_with_its_key(words: str, message: str):
    with pytest.raises(UnlatchError) as caught:
        load_configs("collect", CollectCfg, parse_command_line(shlex.split(words)))
    assert caught.value.message == message.rstrip()


def test_the_standard_budget_is_the_planners_own():
    budget = read("").planner
    assert PlanBudget.of(budget) == PlanBudget()


@pytest.mark.slow
def test_quick_tries_less_and_thorough_more():
    quick, standard, thorough = (read(f"planner={name}").planner for name in ("quick", "standard", "thorough"))
    for key in ("goal_waves", "searches", "rescues", "motion_queries", "work"):
        assert getattr(quick, key) < getattr(standard, key) < getattr(thorough, key)


@pytest.mark.slow
def test_chosen_groups_are_part_of_the_header_of_a_data_set():
    standard = header_of(read(""))["config"]
    chosen = header_of(read("camera=front planner=quick"))["config"]
    assert all(standard[key] != chosen[key] for key in ("camera", "planner"))
    assert (chosen["camera"]["cameras"][0]["name"], chosen["planner"]["goal_waves"]) == ("front", 1)


@pytest.mark.parametrize("name", option_names("experiment"))
def test_every_experiment_composes(name: str):
    cfg = read(f"experiment={name} randomization=light")  # what it may sweep over is given
    assert cfg.pictures == 0 or cfg.render


@pytest.mark.slow
def test_the_command_line_overrides_an_experiment():
    cfg = read("experiment=training_set successes=5 randomization=none")
    assert (cfg.successes, cfg.randomization.name, cfg.camera.name, cfg.render) == (5, "none", "front_wrist", True)


@pytest.mark.slow
def test_an_experiment_that_sweeps_is_every_combination():
    found = jobs("-m experiment=difficulty task=open_drawer")
    assert [job.cfg.randomization.name for job in found] == ["none", "light", "full"]
    (one, *more) = jobs("-m experiment=difficulty task=open_drawer randomization=light")
    assert (one.cfg.randomization.name, more) == ("light", [])


@pytest.mark.parametrize(
    ("name", "size", "cameras", "rate_hz"),
    [
        ("policy", [128, 128], ["front", "wrist"], 10),
        ("vla", [224, 224], ["front", "wrist"], 10),
        ("film", [1280, 720], ["front"], 30),
    ],
)
def test_a_file_of_images_asks_for_them_with_cameras_size_and_rate(name, size, cameras, rate_hz):
    cfg = read(f"images={name}")
    assert (cfg.render, cfg.images.size_px, cfg.images.cameras) == (True, size, cameras)
    assert cfg.world.record_hz == rate_hz
    assert read(f"images={name} images.name=other").images.name == "other"


@pytest.mark.slow
def test_several_experiments_make_a_run_each_but_a_sweep_must_be_alone():
    assert [job.cfg.successes for job in jobs("-m experiment=smoke,training_set task=open_drawer")] == [None, 500]
    with pytest.raises(ConfigError, match=r"and difficulty is a sweep\. Expected it alone"):
        jobs("-m experiment=smoke,difficulty task=open_drawer")


@pytest.mark.slow
def test_experiment_null_chooses_no_experiment():
    assert header_of(read("experiment=null")) == header_of(read(""))


@pytest.mark.slow
def test_a_job_of_a_sweep_runs_alone_whatever_its_experiment_says():
    job = jobs("-m experiment=difficulty task=open_drawer launcher=joblib")[1]
    job.cfg.out = "data/x"
    words = make_sweep_job("collect", job, []).arguments[1:]
    (alone,) = jobs(" ".join(words))
    assert (alone.cfg.launcher.name, alone.cfg.sweep_dir, alone.cfg.out) == ("serial", None, "data/x")
    assert header_of(alone.cfg) == header_of(job.cfg)


GLOBAL = "# @package _global_\n"
SWEEPS = {
    "sweep: {seed: 3}": r"sweep\.seed=3 has the wrong type\. Expected a list of values with at least one",
    "sweep: {seed: []}": r"sweep\.seed=a list has the wrong type\. Expected a list of values",
    "sweep: {seed: [{a: 1}]}": r"sweep\.seed\[0\]=a mapping has the wrong type\. Expected a plain value",
    "sweep: [seed]": r"sweep=a list has the wrong type\. Expected lists of values by key",
    "sweep: {sed: [1, 2]}": r"sed is unknown\. Did you mean 'seed'",
    "episode: 3": r"episode is unknown\. Did you mean 'episodes'.*\(in experiment/mine\.yaml\)",
    "defaults: [difficulty, _self_]": r"sweep\.randomization has no effect: the file of the chosen expe",
}
"""Mistakes in an experiment."""
TASKS = {
    **{
        f"defaults: [open_drawer, _self_]\n{group}: front": rf"^{group}='front' has the wrong type\. .* write "
        rf"`- override /{group}: front` into .*task/mine\.yaml"
        for group in ("camera", "planner", "robot", "object", "randomization")
    },
    "defaults: [open_drawer, {override /camra: front}, _self_]": r"camra is unknown\. Did you mean 'camera'\?.* or a "
    "group: camera, disturb, executor,",
}
"""Mistakes in a task: the name of a file in place of its content, and an unknown group."""


@pytest.mark.parametrize(
    ("group", "text", "message"),
    [
        *(("experiment", f"{GLOBAL}{text}\n", message) for text, message in SWEEPS.items()),
        *(("task", f"{GLOBAL}{text}\n", message) for text, message in TASKS.items()),
        ("experiment", "episodes: 3\n", r"Expected '# @package _global_' as the very first line of .*mine\.yaml"),
    ],
)
def test_a_mistake_in_a_file_of_the_user_is_named(group: str, text: str, message: str, tmp_path: Path):
    write_mine(tmp_path, group, text)
    words = "-m task=open_drawer experiment=mine" if group == "experiment" else "task=mine"
    with pytest.raises(ConfigError, match=message):
        jobs(f"{words} --config-dir {tmp_path}")


@pytest.mark.parametrize("words", ["experiment=smoke", "experiment=difficulty", "executor=serial"])
def test_keys_of_runs_are_refused_by_commands_that_make_no_run(words: str):
    with pytest.raises(ConfigError, match=r"is not available here: this command makes no run\. Expected it with `coll"):
        load_configs("plan", PlanCfg, parse_command_line(["task=open_drawer", words]))


def test_an_experiment_may_choose_the_task(tmp_path: Path):
    write_mine(
        tmp_path,
        "experiment",
        "# @package _global_\ndefaults:\n  - override /task: close_drawer\n  - override /planner: quick\n"
        "seed: 7\nsweep: {'world.solver_iterations': [100, 150]}\n",
    )
    found = jobs(f"-m experiment=mine --config-dir {tmp_path}")
    assert [(job.cfg.task.name, job.cfg.seed, job.cfg.world.solver_iterations) for job in found] == [
        ("close_drawer", 7, 100),
        ("close_drawer", 7, 150),
    ]
    assert {job.cfg.planner.name for job in found} == {"quick"}


def test_cameras_of_a_run_are_short_for_the_keys_of_images():
    cfg = read("cameras=[front,wrist]")
    assert (cfg.render, cfg.images.cameras) == (True, ["front", "wrist"])
    front, wrist = read("cameras=[front,wrist] cameras.0.width=160").images.cameras
    assert (front["width"], wrist["name"]) == (160, "wrist")
    with pytest.raises(ConfigError, match=r"cameras=.* and images\.cameras=.* are both given\."):
        read("cameras=[front] images.cameras=[wrist]")
    with pytest.raises(ConfigError, match=r"images\.cameras=.* has no effect without images\. Set render=true"):
        read("images.cameras=[front]")


def test_a_folder_of_the_name_of_an_object_of_unlatch_is_pointed_out(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    assert not is_object_path("drawer", ())
    assert not caplog.records
    (tmp_path / "drawer").mkdir()
    (tmp_path / "drawer" / "drawer.urdf").touch()
    assert not is_object_path("drawer", ())
    assert "object=./drawer" in caplog.text
    assert is_object_path("./drawer", ())
    assert not is_object_path("thing.xacro", ())
    (tmp_path / "thing.xacro").touch()
    assert is_object_path("thing.xacro", ())


@pytest.mark.parametrize(("group", "folder"), [("robot", "configs"), ("task", ".")])
def test_a_file_of_ones_own_that_is_not_looked_at_is_named(tmp_path, monkeypatch, group, folder):
    file = Path(folder, group, "mine.yaml")
    (tmp_path / file.parent).mkdir(parents=True)
    (tmp_path / file).write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    words = [f"{group}=mine"] if group == "task" else ["task=open_drawer", f"{group}=mine"]
    with pytest.raises(ConfigError, match=rf"Unknown {group} 'mine'\. There is {file}: add --config-dir {folder}\.$"):
        load_configs("plan", PlanCfg, parse_command_line(words))
