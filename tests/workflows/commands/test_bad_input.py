"""Every mistake is one line on stderr, exit code 2, and nothing is written.

`bad_input.txt` has those of a configuration word for word; the table here those of the other commands.
"""

import dataclasses
import os
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import trimesh

from tests.workflows.builders import data_set_of
from unlatch.objects import library
from unlatch.objects.procedural.drawer import drawer
from unlatch.robots.changed_models import distribution_file
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load

READ_INSIDE = (
    "'task' was read as task.task (in task/typo.yaml). Expected '# @package _global_' as the very first line of a "
    "task's file. Put it there."
)


PACKAGE = "# @package _global_\n"
TABLE = Path(__file__).with_name("bad_input.txt")
DATA = Path(__file__).parents[2] / "data"


def table() -> list[tuple[str, str]]:
    blocks = TABLE.read_text(encoding="utf-8").split("\n\n")
    rows = [block.strip().split("\n") for block in blocks if block.strip()]
    assert all(len(row) == 2 and row[0].startswith("$ unlatch ") for row in rows)
    return [(row[0].removeprefix("$ unlatch "), row[1]) for row in rows]


@pytest.fixture(scope="session")
def things_in_the_way(tmp_path_factory) -> Path:
    """A folder with objects, data sets and files that commands cannot use."""
    folder, urdf = tmp_path_factory.mktemp("in_the_way") / "all", drawer(3).model.to_urdf()
    files = {"occupied/note.txt": "mine", "file": "mine", "file.txt": "", "mesh.stl": "solid a\nendsolid a\n"}
    files |= dict.fromkeys(("two/a.urdf", "two/b.urdf", "many/a/thing.urdf", "many/b/thing.urdf"), urdf)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "empty").mkdir()
    trimesh.creation.box().export(folder / "box.obj")
    data_set_of(folder / "no_episode", [])
    data_set_of(folder / "one_episode", [None])
    return folder


@pytest.fixture
def cwd(things_in_the_way, tmp_path, monkeypatch) -> Path:
    shutil.copytree(things_in_the_way, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNLATCH_PARTNET_DIR", raising=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("command", "message"), table())
def test_wrong_input_is_one_line(command, message, cwd, assert_refused):
    said = assert_refused(*shlex.split(command), text="", folder=cwd)
    assert said.replace(str(cwd), "{cwd}") == message + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{PACKAGE}task: {{name: typo, sumary: oops}}\n",
            "task.sumary is unknown. Did you mean 'summary'? `unlatch schema` lists all. Remove or rename it. "
            "(in task/typo.yaml)",
        ),
        (
            f"{PACKAGE}task: {{name: typo, settle_s: long}}\n",
            "task.settle_s='long' has the wrong type. Expected a number. Change it. (in task/typo.yaml)",
        ),
        ("task: {name: typo}\n", READ_INSIDE),
        (f"# mine\n{PACKAGE}task: {{name: typo}}\n", READ_INSIDE),
        (
            f"{PACKAGE}task:\n  name: typo\n   summary: [\n",
            "YAML error in '{cwd}/mine/task/typo.yaml', line 4, column 11: mapping values are not allowed here. "
            "Correct the file.",
        ),
    ],
)
def test_an_error_in_a_users_yaml_names_the_file(text, message, cwd, assert_refused):
    (cwd / "mine" / "task").mkdir(parents=True)
    (cwd / "mine" / "task" / "typo.yaml").write_text(text)
    said = assert_refused("collect", "task=typo", "--config-dir", "mine", text="", folder=cwd)
    assert said.replace(str(cwd), "{cwd}") == f"unlatch: {message}\n"


def move_head(part):
    head = part.keypoints["articulated_object_head"]
    away = dataclasses.replace(head, xyz=head.xyz + np.array([0.0, 0.0, 0.5]))
    return dataclasses.replace(part, keypoints={**part.keypoints, "articulated_object_head": away})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda part: dataclasses.replace(part, joint="hinge_9"), "joint 'hinge_9' is not in the URDF. Joints: door_"),
        (move_head, "articulated_object_head"),
    ],
    ids=["joint", "keypoint"],
)
def test_an_annotation_that_does_not_fit_raises_an_error(change, text, cwd, monkeypatch, assert_refused):
    generate = library.GENERATORS.load("microwave")

    def spoiled(seed: int, *, name: str):
        made = generate(seed, name=name)
        parts = {"door": change(made.articulation.parts["door"])}
        return dataclasses.replace(made, articulation=dataclasses.replace(made.articulation, parts=parts))

    monkeypatch.setattr(library.GENERATORS, "load", lambda _name: spoiled)
    assert_refused("collect", "task=open_microwave", f"object.cache_dir={cwd}_cache", "out=x", text=text, folder=cwd)


@pytest.mark.slow
def test_another_configuration_in_the_same_folder_raises_an_error_with_the_keys(cwd, assert_refused):
    DataSet.create_or_resume(cwd / "set", header=header_of(load("open_microwave"))).close()
    words = ["collect", "task=open_microwave", "out=set", "seed=3", "world.solver_iterations=90"]
    said = assert_refused(*words, text="config.seed: there 0, now 3", folder=cwd)
    assert "config.world.solver_iterations: there 300, now 90" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_raises_an_error(cwd, assert_refused):
    (cwd / "locked").mkdir(mode=0o500)
    text = "cannot be written: Permission denied"
    assert_refused("collect", "task=open_microwave", "out=locked/set", text=text, folder=cwd)


PEER = DATA / "peer_tasks" / "open_then_close.yaml"
XARM = distribution_file("pybullet", "pybullet_data/xarm/xarm6_with_gripper.urdf", where="the test")
OTHER_COMMANDS = [
    ("annotate", "annotate got 0 folders (none), expected 1, then key=value."),
    ("annotate nowhere", "'nowhere' does not exist. Expected a URDF, USD, glTF, SDF, MJCF or the folder of an object."),
    ("annotate empty", "'empty' contains no object: no URDF in it or below it, and no USD or glTF with joints in it."),
    ("annotate file.txt", "'file.txt' is no URDF, USD, glTF, SDF or MJCF: its name ends in '.txt'. Expected .urdf, "),
    ("annotate two", "'two' holds 2 objects (a.urdf, b.urdf), expected one. Name the file."),
    ("annotate empty scal=1", "scal is unknown. Did you mean 'scale'?"),
    ("annotate two/a.urdf scale=1 size=1", "scale and size_m are both set, and each determines the other. Set one."),
    ("annotate two/a.urdf scale=-1", "scale=-1 is out of range."),
    ("annotate two/a.urdf check=true edit=true", "check and edit are both true."),
    ("annotate many edit=true", "edit=true takes one object, got 2. Name the folder of one."),
    ("annotate two/a.urdf out=file.txt", "file.txt/annotation.png cannot be written"),
    ("annotate two/a.urdf port=99999", "port=99999 is out of range. Expected 0 to 65535."),
    ("annotate mesh.stl", "is a mesh without joints. Say which part moves: unlatch annotate mesh.stl joint=hinge"),
    ("annotate mesh.stl axis=z", "axis describes the joint of a mesh. Add joint=hinge or joint=slider."),
    ("annotate mesh.stl joint=hinge axis=[0,a,1]", "axis=[0, 'a', 1] is no list of numbers."),
    ("check . workers=2", "workers=2 has no effect without replay=true"),
    ("check . replay=maybe", "replay"),
    ("check . replay=true workers=0", "workers"),
    ("collect task=open_drawer live_port=70000", "live_port=70000 is out of range"),
    ("collect task=open_drawer live=maybe", "live"),
    ("collect task=open_drawer live=true live_host=192.0.2.1", "live_host=192.0.2.1 cannot be listened"),
    ("collect -m task=close_drawer launcher=jobib", "joblib"),
    ("collect -m task=close_drawer sweep_dir=s out=x", "Use sweep_dir"),
    ("collect -m task=close_drawer launcher=serial,joblib", "several launchers"),
    ("completion tcsh", "expected one of: bash, zsh, fish"),
    ("config", "config got '', expected one task"),
    ("config open_drawer close_drawer", "config got 'open_drawer close_drawer', expected one task"),
    ("config opn_drawer", "Unknown task 'opn_drawer'. Did you mean 'open_drawer'"),
    ("config open_drawer seeed=3", "seeed is unknown. Did you mean 'seed'"),
    ("config open_drawer diff=x", "Unknown task 'x'."),
    ("convert gone.urdf", "'gone.urdf' does not exist. Give a mesh, a URDF, or a folder of them."),
    ("convert empty", "'empty' contains nothing to convert. Expected mobility.urdf, URDFs or meshes"),
    ("convert file.txt", "'file.txt' is neither a URDF, a USD nor a supported mesh."),
    ("convert two/a.urdf scale=0", "scale=0 is out of range"),
    ("convert two/a.urdf workers=0", "workers=0 is out of range"),
    ("convert two/a.urdf dense=3", "dense is unknown"),
    ("convert two/a.urdf link_density=-1", "link_density=-1 is out of range"),
    ("convert two/a.urdf default_drive_type=effort", "default_drive_type"),
    ("convert box.obj mass=-1", "mass_props.mass=-1"),
    ("convert box.obj rotation=[1,0,0]", "rotation="),
    ("convert box.obj translation=far", "translation="),
    ("convert box.obj --force", "Unknown flag '--force'"),
    ("doctor task=open_box", "expected nothing"),
    ("import", "import got 0 files, expected one YAML file"),
    ("import nowhere.yaml", "nowhere.yaml is not a file. Expected a YAML file."),
    (f"import {PEER} name=open_microwave", "There is a task 'open_microwave' already."),
    (f"import {PEER} object=microwve", "Did you mean 'microwave'"),
    (f"import {PEER} robot=pnda", "pnda"),
    (f"import {PEER} robot={PEER}", "is no description of a robot. Expected FOLDER/robot/NAME.yaml"),
    (f"import {PEER} setings=derived", "setings is unknown. Did you mean 'settings'?"),
    (f"import {DATA}/peer_settings/gensim2_rigid.yaml out=mine", "no counterpart"),
    ("label", "label got 0 folders"),
    ("label one_episode", "out= is missing"),
    ("label one_episode out=x every=0", "every=0 is out of range"),
    ("label one_episode out=x evry=3", "Did you mean 'every'"),
    (
        "make-object",
        "make-object got 0 categories (none), expected 1, then key=value. `unlatch list objects` lists them",
    ),
    (
        "make-object ovn",
        "category='ovn' is not `all` or a category of generated objects. Did you mean 'oven'? `unlatch",
    ),
    ("make-object oven seed=-1", "seed=-1 is out of range. Expected 0 or more."),
    ("make-object oven count=0", "count=0 is out of range. Expected 1 to 10000."),
    ("make-object oven \"out=''\"", "out is empty. Name the folder of the results."),
    ("make-object oven --force", "'--force' cannot be read. Expected key=value."),
    ("new skil x", "new got 'skil x'. Did you mean 'skill'"),
    ("new skill", "new got 'skill'. Expected one of plugin, robot, skill, task and a name"),
    ("new skill Tap-It", "'Tap-It' is not a valid name. Expected small letters"),
    ("new skill ../x", "'../x' is not a valid name."),
    ("new skill open", "There is a skill 'open' already."),
    ("new skill occupied", "occupied exists already. Expected a new folder."),
    ("new skill x out=file/y", "cannot be written: "),
    ("new task open_drawer", "There is a task 'open_drawer' already."),
    ("new task x object=./nowhere.urdf", "does not exist. Expected a URDF"),
    ("new task x object=microwav", "object='microwav' is unknown. Did you mean 'microwave'? `"),
    ("new task x part=nonsense", "nonsense"),
    ("new task x skill=opn", "Unknown skill 'opn'. Did you mean 'open'?"),
    ("new task x skill=artpreplan", "none can be derived for it"),
    ("new task x robot=panda", "robot"),
    ("new robot", "new got 'robot', expected `robot` and a URDF or MJCF file, then key=value."),
    ("new robot x y", "new got 'robot x y', expected `robot` and a URDF"),
    ("new robot no.urdf", "no.urdf: the file cannot be read"),
    (f"new robot {XARM} name=1x", "name='1x' cannot name a robot."),
    ("replay", "replay got 0 folders (none), expected 1"),
    ("replay one_episode", "expects either episode=N or all=true"),
    ("replay one_episode episode=1 all=true", "expects either episode=N or all=true"),
    ("replay one_episode episode=0 mode=states", "Expected one of action, state"),
    ("replay one_episode episode=0 --fast", "Unknown flag '--fast'"),
    ("replay nowhere episode=1", "is not a data set"),
    ("report", "at least 1"),
    ("report nowhere", "does not exist"),
    ("report no_episode", "no episode"),
    ("report one_episode pictures=11", "0 to 10"),
    ("report one_episode clips=25", "0 to 24"),
    ("report one_episode out=x.pdf", ".html"),
    ("schema task", "task"),
    ("schema out=a out=b", "out"),
    ("schema kind=task", "kind"),
    ("schema out=not/there/x.json", "not/there"),
    ("watch", "at least 1"),
    ("watch nowhere", "does not exist"),
    ("watch . every_s=0", "0.1"),
    ("watch . once=true page=true", "exclude each other"),
    ("watch . port=-1", "port=-1"),
]


@pytest.mark.parametrize(("command", "message"), OTHER_COMMANDS, ids=[command for command, _ in OTHER_COMMANDS])
def test_wrong_input_of_another_command_is_one_line(command, message, cwd, assert_refused):
    assert_refused(*shlex.split(command), text=message, folder=cwd)
