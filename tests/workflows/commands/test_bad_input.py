"""Every mistake is one line on stderr, exit code 2, and nothing is written; `bad_input.txt` has them word for word."""

import dataclasses
import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects import library
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load

READ_INSIDE = (
    "'task' was read as task.task (in task/typo.yaml). Expected '# @package _global_' as the very first line of a "
    "task's file. Put it there."
)


PACKAGE = "# @package _global_\n"
TABLE = Path(__file__).with_name("bad_input.txt")


def table() -> list[tuple[str, str]]:
    blocks = TABLE.read_text(encoding="utf-8").split("\n\n")
    rows = [block.strip().split("\n") for block in blocks if block.strip()]
    assert all(len(row) == 2 and row[0].startswith("$ unlatch ") for row in rows)
    return [(row[0].removeprefix("$ unlatch "), row[1]) for row in rows]


@pytest.fixture
def cwd(tmp_path, monkeypatch) -> Path:
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "note.txt").write_text("mine")
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
