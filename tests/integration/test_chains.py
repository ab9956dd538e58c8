"""Chains of skills: each plans from where the one before left things, and a failure ends the chain at its index."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.integration.episodes import assert_success, run
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.runs.loading import load

pytestmark = pytest.mark.integration

CHAINS = {
    "open_cabinet_drawer": ["artpreplan", "open", "open"],
    "open_close_drawer": ["artpreplan", "open", "close"],
    "turn_knob_close_oven": ["artpreplan", "rotate", "close"],
}


@pytest.mark.slow
@pytest.mark.parametrize("task", CHAINS)
def test_a_chain_is_carried_out(task):
    cfg = load(task)
    record = run(cfg)
    assert [skill["name"] for skill in record.skills] == CHAINS[task]
    assert_success(record, cfg)
    assert all(skill["success"] for skill in record.skills)
    ends = [(skill["frame_start"], skill["frame_end"]) for skill in record.skills]
    assert all(first[1] == second[0] for first, second in itertools.pairwise(ends))


@pytest.mark.slow
def test_a_can_is_carried_by_friction_and_the_second_judge_agrees(episode):
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
