"""`part=all` is a job for each part of an object that the skill fits."""

from pathlib import Path

import numpy as np
import pytest

from unlatch.configs.derived_request import name_each_part
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.commands.collect import collect_command as main
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration


def jobs_of(*overrides: str) -> tuple[list[list[str]], dict[str, str]]:
    return name_each_part("collect", CollectCfg, overrides, [])


@pytest.fixture(scope="module")
def oven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An oven with a door and knobs, as a folder with a URDF and its annotation."""
    from unlatch.workflows.commands.objects import make_object_command as make_object

    folder = tmp_path_factory.mktemp("made") / "oven"
    assert make_object(["oven", "seed=1", f"out={folder}"]) == 0
    return folder


@pytest.mark.slow
def test_each_part_that_the_skill_fits_is_a_job_and_the_others_have_a_reason(oven: Path):
    words = (f"object={oven}", "skill=open", "part=all", "episodes=2")
    jobs, left_out = jobs_of(*words)
    rotated, not_rotated = jobs_of(*(word.replace("skill=open", "skill=rotate") for word in words))
    parts = [job[2].removeprefix("part=") for job in jobs]
    assert "door" in parts
    assert all([*job[:2], *job[3:]] == [words[0], words[1], words[3]] for job in jobs)
    knobs = [job[2].removeprefix("part=") for job in rotated]
    assert knobs
    assert "door" not in knobs
    assert "skill=rotate does not fit part 'door'" in not_rotated["door"]
    assert set(parts) | set(left_out) == set(knobs) | set(not_rotated)


@pytest.mark.slow
def test_an_object_of_the_library_needs_its_instance():
    names = set(
        load_object(
            ObjectCfg(name="o", category="refrigerator", instance="1"), rng=np.random.default_rng(0)
        ).articulation.parts
    )
    jobs, left_out = jobs_of("object=refrigerator", "object.instance=1", "skill=close", "part=all")
    assert {job[3] for job in jobs} == {f"part={name}" for name in names - set(left_out)}
    with pytest.raises(ConfigError, match="part=all needs one object, and object=refrigerator draws one"):
        jobs_of("object=refrigerator", "skill=close", "part=all")


def test_a_part_of_its_own_name_is_one_job_as_it_is():
    words = ["task=open_drawer", "episodes=1"]
    assert jobs_of(*words) == ([words], {})


def test_all_parts_of_a_task_mean_nothing():
    with pytest.raises(ConfigError, match="part=all stands for each part of an object in turn"):
        jobs_of("task=open_drawer", "part=all")


def test_a_skill_that_fits_no_part_says_why(tmp_path: Path):
    with pytest.raises(ConfigError, match="skill=rotate does not fit part 'drawer'"):
        jobs_of("object=drawer", "object.instance=1", "skill=rotate", "part=all")


@pytest.mark.slow
def test_the_jobs_have_data_sets_of_their_own(
    oven: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main([f"object={oven}", "skill=rotate", "part=all", "--cfg", "job"]) == 0
    said = capsys.readouterr()
    assert "part 'door' is left out: skill=rotate does not fit part 'door'" in said.err
    names = [line for line in said.out.splitlines() if line.startswith("  name: rotate_")]
    assert len(names) == len(set(names)) > 1
    assert main([f"object={oven}", "skill=rotate", "part=all", "out=data/knobs"]) == 2
    assert "Expected a folder each" in capsys.readouterr().err
