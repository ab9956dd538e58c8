"""Episodes in which fingertips drag a part by friction, and how they end if friction does not hold."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.integration.episodes import assert_success, run
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.skills import dragging
from unlatch.skills.commands import Phase
from unlatch.skills.dragging import Press
from unlatch.skills.gripping import SAFETY_FACTOR
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DOOR_FRICTION_N = 3.0
"""Dry friction of `sliding_door.urdf`."""
OBJECTS = Path(__file__).parents[3] / "examples" / "objects"


def dragging_of(path: Path, skill: str, *overrides: str) -> CollectCfg:
    return load(f"object={path}", f"skill={skill}", *overrides, seed=11)


def drag(name: str, skill: str, *overrides: str) -> EpisodeRecord:
    return run(dragging_of(OBJECTS / f"{name}.urdf", skill, *overrides))


def strategy_of(record: EpisodeRecord) -> str:
    (entry,) = (item for item in record.skills if item["name"] != "artpreplan")
    return str(entry["strategy"])


@pytest.mark.parametrize(
    ("name", "skill"),
    [
        ("sliding_door", "open"),
        ("sliding_box", "open"),
        ("turntable", "open"),
        ("turntable", "rotate"),
        ("turntable", "close"),
    ],
)
def test_a_part_with_nothing_to_hold_is_dragged(name: str, skill: str):
    record = drag(name, skill)
    assert_success(record)
    assert strategy_of(record).startswith("drag")


@pytest.fixture
def normal_forces(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Returns a list to which every record frame adds the mean normal force of all fingers on the part [N]."""
    found: list[float] = []
    steps: list[float] = []
    sample, end_frame = ContactView.sample, ContactMonitor.end_frame

    def note_steps(view: ContactView, forces_n: list[float], pairs_in: Any) -> None:
        if view.name.endswith("fingers_link"):
            steps.extend(sum(pairs_in(view.name, place)[0].values()) for place in range(len(forces_n)))
        sample(view, forces_n, pairs_in)

    def note_frame(monitor: ContactMonitor) -> None:
        found.append(float(np.mean(steps or [0.0])))
        steps.clear()
        end_frame(monitor)

    monkeypatch.setattr(ContactView, "sample", note_steps)
    monkeypatch.setattr(ContactMonitor, "end_frame", note_frame)
    return found


@pytest.mark.parametrize("friction_n", [DOOR_FRICTION_N, 25.0])
def test_fingertips_press_with_the_chosen_force_while_the_part_moves(
    tmp_path: Path, normal_forces: list[float], friction_n: float
):
    record = run(dragging_of(door_with_friction(tmp_path, friction_n), "open"))
    assert record.success, record.message
    phases = record.arrays["skills.phase"].ravel()[:-1]
    led = np.array(normal_forces[-len(phases) :])[phases == Phase.follow.value]
    (press_n,) = (item["press_force_n"] for item in record.skills if "press_force_n" in item)
    assert np.median(led) == pytest.approx(press_n, rel=0.1)
    assert (press_n > 50.0) == (friction_n > DOOR_FRICTION_N)  # a heavy part is pressed harder


def test_a_record_states_how_hard_the_fingertips_press_and_another_force_is_found_out():
    cfg = dragging_of(OBJECTS / "sliding_door.urdf", "open")
    record = run(cfg)
    source = CriteriaSource(cfg)
    assert check_record(record, source.derive) == []
    skills = copy.deepcopy(record.skills)
    (entry,) = (item for item in skills if item["name"] == "open")
    gripper = cfg.robot.arms[0].gripper
    assert gripper.friction * OBJECT_FRICTION * entry["press_force_n"] >= SAFETY_FACTOR * DOOR_FRICTION_N
    entry["press_force_n"] += 5.0
    (problem,) = check_record(replace(record, skills=skills), source.derive)
    assert "skills[1].press_force_n is " in problem


def door_with_friction(folder: Path, friction_n: float) -> Path:
    """Writes the sliding door with another friction of its joint; returns its file."""
    text = (OBJECTS / "sliding_door.urdf").read_text()
    (folder / "door.urdf").write_text(text.replace('friction="3"', f'friction="{friction_n:g}"'))
    return folder / "door.urdf"


def test_fingertips_that_are_too_slippery_slip(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dragging, "choose_press", lambda *_: Press(15.0, 0.0, 70.0))
    record = drag("sliding_door", "open", "robot.arms.0.gripper.friction=0.15")
    assert not record.success
    assert record.code == "slipped"
    assert record.evidence["slid_m"] > 0.015


def test_fingertips_that_do_not_reach_the_face_have_missed_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dragging, "choose_press", lambda *_: Press(-10.0, 0.0, 70.0))
    record = drag("sliding_door", "open")
    assert not record.success
    assert record.code == "grasp_missed"


def test_a_part_that_is_too_hard_to_drag_is_refused_with_both_forces(tmp_path: Path):
    text = (OBJECTS / "turntable.urdf").read_text()
    (tmp_path / "turntable.urdf").write_text(text.replace('friction="0.25"', 'friction="20"'))
    record = run(dragging_of(tmp_path / "turntable.urdf", "open"))
    assert not record.success
    assert record.code == "invalid_layout"
    assert "Friction cannot drag 'knob'. The fingertips would press with" in record.message
