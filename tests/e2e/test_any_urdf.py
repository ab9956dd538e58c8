"""A URDF that nobody has prepared is opened, closed or pressed by one command, checked, and replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.running import Commands
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def box(size: str, at: str) -> str:
    return f'<visual><origin xyz="{at}"/><geometry><box size="{size}"/></geometry></visual>'


CABINET = f"""<robot name="cabinet">
  <link name="case">{box("0.3 0.4 0.02", "0 0 0.01")}{box("0.3 0.4 0.02", "0 0 0.39")}
    {box("0.3 0.02 0.36", "0 -0.19 0.2")}{box("0.3 0.02 0.36", "0 0.19 0.2")}
    {box("0.02 0.36 0.36", "0.14 0 0.2")}</link>
  <link name="panel">{box("0.02 0.4 0.4", "-0.01 0.2 0.2")}</link>
  <link name="grip">{box("0.016 0.016 0.16", "-0.05 0 0")}{box("0.05 0.016 0.016", "-0.02 0 0.07")}
    {box("0.05 0.016 0.016", "-0.02 0 -0.07")}</link>
  <joint name="hinge" type="revolute"><parent link="case"/><child link="panel"/><origin xyz="-0.15 -0.2 0"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="1.6"/></joint>
  <joint name="screws" type="fixed"><parent link="panel"/><child link="grip"/><origin xyz="0 0.36 0.2"/></joint>
</robot>
"""

CHEST = f"""<robot name="chest">
  <link name="case">{box("0.4 0.4 0.02", "0 0 0.01")}{box("0.4 0.4 0.02", "0 0 0.24")}
    {box("0.4 0.02 0.21", "0 -0.19 0.125")}{box("0.4 0.02 0.21", "0 0.19 0.125")}
    {box("0.02 0.36 0.21", "-0.19 0 0.125")}</link>
  <link name="box">{box("0.02 0.36 0.2", "0.01 0 0.125")}{box("0.34 0.34 0.02", "-0.17 0 0.04")}
    {box("0.014 0.14 0.014", "0.06 0 0.125")}{box("0.04 0.014 0.014", "0.035 0.06 0.125")}
    {box("0.04 0.014 0.014", "0.035 -0.06 0.125")}</link>
  <joint name="rail" type="prismatic"><parent link="case"/><child link="box"/><origin xyz="0.2 0 0"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.3"/></joint>
</robot>
"""


def button(radius: float, travel: float) -> str:
    """A button in a case, flush with it when it is pressed; it comes out by its travel."""
    return f"""<robot name="button">
  <link name="case">{box("0.15 0.2 0.12", "0 0 0.06")}</link>
  <link name="button"><visual><origin xyz="-0.01 0 0" rpy="0 1.5708 0"/><geometry><cylinder radius="{radius}"
    length="0.02"/></geometry></visual></link>
  <joint name="spring" type="prismatic"><parent link="case"/><child link="button"/>
    <origin xyz="{0.075 + travel} 0 0.08"/><axis xyz="1 0 0"/><limit lower="{-travel}" upper="0"/></joint>
</robot>
"""


SWITCH = f"""<robot name="switch">
  <link name="case">{box("0.12 0.16 0.12", "0 0 0.06")}</link>
  <link name="switch">{box("0.008 0.02 0.036", "0.004 0 0")}</link>
  <joint name="pivot" type="revolute"><parent link="case"/><child link="switch"/><origin xyz="0.062 0 0.07"/>
    <axis xyz="0 1 0"/><limit lower="-0.07" upper="0.07"/></joint>
</robot>
"""


Make = Callable[..., list[EpisodeRecord]]


@pytest.fixture
def make(commands: Commands, tmp_path: Path, made_once: Callable[..., Path]) -> Make:
    """Collects two episodes, checks and replays them; returns their records."""
    cache = made_once("cache of objects that this session converts", lambda folder: None)

    def run(*words: str) -> None:
        done = commands.run(["unlatch", *words], tmp_path, environment={"UNLATCH_CACHE_DIR": str(cache)})
        others = [line for line in done.stderr.splitlines() if " episodes after " not in line]  # a slow machine
        assert (done.returncode, others) == (0, [])

    def make_records(*words: str) -> list[EpisodeRecord]:
        run("collect", *words, "rehearse=false", "episodes=2", "executor=serial", "pictures=0", "out=made")
        made = DataSet.open(tmp_path / "made")
        assert check_dataset(tmp_path / "made") == []
        run("replay", "made", "all=true", "check=true")
        return [made.read(number) for number in made.numbers()]

    return make_records


@pytest.mark.parametrize(
    ("name", "text", "skill"),
    [
        ("cabinet", CABINET, "open"),
        pytest.param("cabinet", CABINET, "close", marks=pytest.mark.heavy),
        pytest.param("chest", CHEST, "open", marks=pytest.mark.heavy),
        pytest.param("chest", CHEST, "close", marks=pytest.mark.heavy),
    ],
)
def test_a_urdf_without_any_other_file_is_opened_and_closed(
    name: str, text: str, skill: str, tmp_path: Path, make: Make
):
    (tmp_path / f"{name}.urdf").write_text(text)
    records = make(f"object={name}.urdf", f"skill={skill}")
    assert [record.success for record in records] == [True] * 2
    # the derived task is recorded like any other
    config = DataSet.open(tmp_path / "made").header["config"]
    assert config["task"]["name"] == f"{skill}_{name}_{'door' if name == 'cabinet' else 'drawer'}"
    assert config["object"]["source"] == "urdf"
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.urdf", "made"}


@pytest.mark.parametrize(
    ("text", "range_of_part"),
    [
        pytest.param(button(0.009, 0.003), 0.003, id="button of 3 mm"),
        pytest.param(button(0.02, 0.008), 0.008, id="button of 8 mm", marks=pytest.mark.heavy),
        pytest.param(SWITCH, 0.14, id="switch", marks=pytest.mark.heavy),
    ],
)
def test_a_button_is_pressed_until_most_of_its_way_is_done(text: str, range_of_part: float, tmp_path: Path, make: Make):
    (tmp_path / "thing.urdf").write_text(text)
    for record in make("object=thing.urdf", "skill=close"):
        skill = record.skills[-1]
        assert record.success
        assert abs(skill["s_end"] - skill["s_closed"]) <= 0.25 * range_of_part
        assert record.settle["max_change"] == pytest.approx(0.1 * range_of_part)


@pytest.mark.heavy
def test_dials_of_safes_are_turned(make: Make):
    for record in make("task=turn_safe_dial"):
        assert record.success
        turns = record.skills[-1]["plan"]["turns"]
        assert turns[0]["s_from"] == pytest.approx(0.0, abs=1e-6)
        assert abs(turns[-1]["s_to"]) > 1.5
