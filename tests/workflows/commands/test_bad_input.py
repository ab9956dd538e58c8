"""Every mistake is one line on stderr, exit code 2, and nothing is written; `bad_input.txt` has them word for word."""

import dataclasses
import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from unlatch import command_table
from unlatch.objects import library
from unlatch.simcore.registry import Catalog

TABLE = Path(__file__).with_name("bad_input.txt")


def table() -> list[tuple[str, str]]:
    blocks = TABLE.read_text(encoding="utf-8").split("\n\n")
    rows = [block.strip().split("\n") for block in blocks if block.strip()]
    assert all(len(row) == 2 and row[0].startswith("$ unlatch ") for row in rows)
    return [(row[0].removeprefix("$ unlatch "), row[1]) for row in rows]


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "note.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNLATCH_PARTNET_DIR", raising=False)
    return tmp_path


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def assert_refused(arguments: list[str], message: str, cwd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_below(cwd)
    code = command_table.main(arguments)
    said = capsys.readouterr()
    assert said.err.replace(str(cwd), "{cwd}") == message + "\n"
    assert said.out == ""
    assert code == 2
    assert files_below(cwd) == before


@pytest.mark.parametrize(("command", "message"), table())
def test_wrong_input_is_one_line(command: str, message: str, cwd: Path, capsys: pytest.CaptureFixture[str]):
    assert_refused(shlex.split(command), message, cwd, capsys)


def test_the_table_covers_many_kinds_of_wrong_input():
    rows = table()
    assert len(rows) >= 70
    assert len({command for command, _ in rows}) == len(rows)


def test_an_error_in_a_users_yaml_names_the_file(cwd: Path, capsys: pytest.CaptureFixture[str]):
    (cwd / "mine" / "task").mkdir(parents=True)
    task = cwd / "mine" / "task" / "typo.yaml"
    task.write_text("# @package _global_\ntask: {name: typo, sumary: oops}\n")
    assert_refused(
        ["collect", "task=typo", "--config-dir", "mine"],
        "unlatch: task.sumary is unknown. Did you mean 'summary'? Keys there: name, summary, regions, relations, "
        "openness, goal, language, settle_s, max_duration_s, derived. Remove or rename it. (in task/typo.yaml)",
        cwd,
        capsys,
    )
    task.write_text("# @package _global_\ntask: {name: typo, settle_s: long}\n")
    assert_refused(
        ["collect", "task=typo", "--config-dir", "mine"],
        "unlatch: task.settle_s='long' has the wrong type. Expected a number. Change it. (in task/typo.yaml)",
        cwd,
        capsys,
    )
    for first in ("", "# mine\n# @package _global_\n"):
        task.write_text(f"{first}task: {{name: typo}}\n")
        assert_refused(
            ["collect", "task=typo", "--config-dir", "mine"],
            "unlatch: 'task' was read as task.task (in task/typo.yaml). Expected '# @package _global_' as the very "
            "first line of a task's file. Put it there.",
            cwd,
            capsys,
        )
    task.write_text("# @package _global_\ntask:\n  name: typo\n   summary: [\n")
    assert_refused(
        ["collect", "task=typo", "--config-dir", "mine"],
        "unlatch: YAML error in '{cwd}/mine/task/typo.yaml', line 4, column 11: mapping values are not allowed here. "
        "Correct the file.",
        cwd,
        capsys,
    )


def tampered(monkeypatch: pytest.MonkeyPatch, change) -> None:
    """Lets the generator of microwaves make an annotation that does not fit."""
    catalog: Catalog = library.GENERATORS
    generate = catalog.load("microwave")

    def spoiled(seed: int, *, name: str):
        made = generate(seed, name=name)
        part = made.articulation.parts["door"]
        parts = {"door": change(part)}
        return dataclasses.replace(made, articulation=dataclasses.replace(made.articulation, parts=parts))

    monkeypatch.setattr(catalog, "load", lambda _name: spoiled)


def test_a_urdf_without_the_named_joint_raises_an_error(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tampered(monkeypatch, lambda part: dataclasses.replace(part, joint="hinge_9"))
    code = command_table.main(["collect", "task=open_microwave", f"object.cache_dir={cwd / 'occupied'}", "out=x"])
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert "part 'door': joint 'hinge_9' is not in the URDF. Joints: door_hinge." in said
    assert not (cwd / "x").exists()


def test_a_keypoint_off_the_part_raises_an_error(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def moved(part):
        head = part.keypoints["articulated_object_head"]
        away = dataclasses.replace(head, xyz=head.xyz + np.array([0.0, 0.0, 0.5]))
        return dataclasses.replace(part, keypoints={**part.keypoints, "articulated_object_head": away})

    tampered(monkeypatch, moved)
    code = command_table.main(["collect", "task=open_microwave", f"object.cache_dir={cwd / 'occupied'}", "out=x"])
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert "articulated_object_head" in said
    assert not (cwd / "x").exists()


def test_another_configuration_in_the_same_folder_raises_an_error_with_the_keys(
    cwd: Path, capsys: pytest.CaptureFixture[str]
):
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.cli.arguments import CommandLine, load_configs
    from unlatch.workflows.runs.header import header_of
    from unlatch.workflows.runs.schema import CollectCfg

    (job,) = load_configs("collect", CollectCfg, CommandLine(overrides=["task=open_microwave"]))
    with DataSet.create_or_resume(cwd / "set", header=header_of(job.cfg)):
        pass
    before = files_below(cwd)
    code = command_table.main(["collect", "task=open_microwave", "out=set", "seed=3", "world.solver_iterations=90"])
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert "config.seed: there 0, now 3" in said
    assert "config.world.solver_iterations: there 300, now 90" in said
    assert files_below(cwd) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_raises_an_error(cwd: Path, capsys: pytest.CaptureFixture[str]):
    folder = cwd / "locked"
    folder.mkdir(mode=0o500)
    code = command_table.main(["collect", "task=open_microwave", "out=locked/set"])
    said = capsys.readouterr().err
    assert code == 2
    assert "cannot be written: Permission denied" in said
    assert said.count("\n") == 1
