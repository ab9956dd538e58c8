"""Free objects in a whole episode: they rest, are carried by friction alone, and are recorded exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unlatch
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.checks.criteria_source import CriteriaSource


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> EpisodeRecord:
    out = tmp_path_factory.mktemp("carry") / "data"
    cfg = unlatch.load("place_can", "executor=serial", "pictures=0")
    return unlatch.collect(cfg, episodes=1, out=str(out)).read(0)


@pytest.mark.integration
@pytest.mark.slow
def test_a_can_is_carried_by_friction_and_the_second_judge_agrees(record: EpisodeRecord) -> None:
    assert record.success, record.evidence
    assert recompute_success(
        record, CriteriaSource(unlatch.load("place_can", "executor=serial", "pictures=0")).derive(record)
    ).success
    position = record.arrays["objects.can.root_position"]
    assert np.linalg.norm(record.arrays["objects.can.root_linear_velocity"][0]) < 0.002, "it does not rest at the start"
    assert position[:, 2].max() - position[0, 2] > 0.08
    assert np.linalg.norm(position[-1, :2] - position[0, :2]) > 0.1
    pick, place = record.skills
    held = slice(place["frame_start"], place["frame_start"] + 20)
    touching = record.arrays["contacts.franka_panda.left.can.fingers_link.force_max_n"][held]
    assert (touching > 0.0).all()
    assert [item["kind"] for item in pick["conditions"] + place["conditions"]] == ["lifted", "on", "upright"]


@pytest.mark.integration
@pytest.mark.slow
def test_a_can_that_fell_is_not_a_success_for_the_second_judge(record: EpisodeRecord) -> None:
    turned = record.arrays["objects.can.root_quat_xyzw"].copy()
    turned[-20:] = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    fallen = EpisodeRecord(**{**vars(record), "arrays": {**record.arrays, "objects.can.root_quat_xyzw": turned}})
    verdict = recompute_success(fallen)
    assert not verdict.success
    assert verdict.code in ("not_reached", "unsettled")


def test_the_folder_of_tasks_has_the_twelve_that_carry() -> None:
    folder = Path(__file__).resolve().parents[2] / "configs" / "task"
    carrying = {path.stem for path in folder.glob("*.yaml") if "name: pick" in path.read_text(encoding="utf-8")}
    assert {
        "book_into_box",
        "put_in_cabinet",
        "put_in_dishwasher",
        "put_in_microwave",
        "set_table",
        "store_in_drawer",
        "swap_between_drawers",
        "take_from_drawer",
        "take_from_refrigerator",
        "tidy_drawer",
        "trash_into_can",
        "warm_meal",
    } <= carrying
