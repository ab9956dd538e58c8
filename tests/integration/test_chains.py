"""Chains of skills: each plans from where the one before left things, and a failure ends the chain at its index."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.integration.episodes import assert_success, run
from unlatch.configs.config_files import config_dir
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.close import Close
from unlatch.workflows.runs.loading import load

pytestmark = pytest.mark.integration

CHAINS = {
    "open_cabinet_drawer": ["artpreplan", "open", "open"],
    "open_close_drawer": ["artpreplan", "open", "close"],
    "open_close_microwave": ["artpreplan", "open", "close"],
    "open_drawers": ["artpreplan", "open", "close", "open"],
    "turn_knob_close_oven": ["artpreplan", "rotate", "close"],
}
LIKE_ANOTHER = ("open_close_microwave", "open_drawers")


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=pytest.mark.heavy if task in LIKE_ANOTHER else ()) for task in CHAINS]
)
def test_a_chain_is_carried_out(task: str):
    cfg = load(task)
    record = run(cfg)
    assert [skill["name"] for skill in record.skills] == CHAINS[task]
    assert_success(record, cfg)
    assert all(skill["success"] for skill in record.skills)
    ends = [(skill["frame_start"], skill["frame_end"]) for skill in record.skills]
    assert all(first[1] == second[0] for first, second in itertools.pairwise(ends))


@pytest.mark.slow
def test_a_closed_door_blocks_the_drawer_behind_it():
    """The task above is one of its kind only if its drawer cannot be opened first."""
    cfg = load("open_cabinet_drawer")
    cfg.skills.pop(1)
    record = run(cfg)
    assert record.code == "invalid_layout"
    refused = record.layout["preplan"]["failures"]
    assert len(refused) == cfg.skills[0].candidates
    assert all(failure["skill"] == 1 for failure in refused)
    assert any("meets cabinet/door" in failure["message"] for failure in refused)


@pytest.mark.slow
def test_a_failed_skill_ends_the_chain_at_its_index(monkeypatch: pytest.MonkeyPatch):
    cfg = load("open_close_drawer")
    cfg.skills.pop(0)  # a search would refuse the layout
    seen = []

    def plan(self: Close, rng: np.random.Generator) -> bool:
        seen.append(abs(self.s - self.part.openness.closed))
        self.fail("path_infeasible", "not today")
        return False

    monkeypatch.setattr(Close, "plan", plan)
    record = run(cfg)
    assert seen[0] > 0.1  # it saw the drawer as it was then
    assert (record.code, record.evidence["message"]) == ("path_infeasible", "not today")
    assert [(skill["name"], skill["success"]) for skill in record.skills] == [("open", True), ("close", False)]


@pytest.mark.slow
def test_a_can_is_carried_by_friction_and_the_second_judge_agrees(episode: Callable[..., EpisodeRecord]):
    record = episode("place_can")
    assert_success(record, load("place_can"))
    position = record.arrays["objects.can.root_position"]
    assert np.linalg.norm(record.arrays["objects.can.root_linear_velocity"][0]) < 0.002, "it does not rest at the start"
    assert position[:, 2].max() - position[0, 2] > 0.08
    assert np.linalg.norm(position[-1, :2] - position[0, :2]) > 0.1
    pick, place = record.skills
    held = slice(place["frame_start"], place["frame_start"] + 20)
    assert (record.arrays["contacts.franka_panda.left.can.fingers_link.force_max_n"][held] > 0.0).all()
    assert [item["kind"] for item in pick["conditions"] + place["conditions"]] == ["lifted", "on", "upright"]

    turned = record.arrays["objects.can.root_quat_xyzw"].copy()
    turned[-20:] = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    verdict = recompute_success(replace(record, arrays={**record.arrays, "objects.can.root_quat_xyzw": turned}))
    assert (verdict.success, verdict.code in ("not_reached", "unsettled")) == (False, True), "a can that fell"


def test_the_folder_of_tasks_has_the_twelve_that_carry():
    tasks = (config_dir() / "task").glob("*.yaml")
    carrying = {path.stem for path in tasks if "name: pick" in path.read_text(encoding="utf-8")}
    into = {f"put_in_{name}" for name in ("cabinet", "dishwasher", "microwave")} | {"book_into_box", "trash_into_can"}
    drawers = {"store_in_drawer", "swap_between_drawers", "take_from_drawer", "take_from_refrigerator", "tidy_drawer"}
    assert into | drawers | {"set_table", "warm_meal"} <= carrying
