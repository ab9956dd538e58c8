"""An arm goes home after it opened a drawer, and with a can in its hand; both judges see whether it is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.integration.episodes import run
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TASKS = {
    "drawer": """# @package _global_
defaults:
  - override /object: drawer
task:
  name: drawer
  derived: {skill: open, part: drawer}
skills:
  - {name: open, objects: [drawer], part: drawer}
  - {name: home}
""",
    "can": """# @package _global_
defaults:
  - override /object: can
task:
  name: can
  regions:
    - {object: can, center_m: [0.5, 0.1], half_extent_m: [0.08, 0.12], yaw_deg: 180.0}
  goal:
    - {object: can, kind: lifted, value: 0.05}
skills:
  - {name: pick, objects: [can]}
  - {name: home}
""",
}
Q = "robots.franka_panda.left.joint_positions"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("mine")
    (found / "task").mkdir()
    for name, text in TASKS.items():
        (found / "task" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return found


@pytest.fixture(scope="module", params=sorted(TASKS))
def gone_home(request: pytest.FixtureRequest, folder: Path) -> tuple[CollectCfg, EpisodeRecord]:
    cfg = load(request.param, config_dirs=[folder])
    return cfg, run(cfg)


def test_the_arm_is_back_and_both_judges_agree(gone_home: tuple[CollectCfg, EpisodeRecord]) -> None:
    cfg, record = gone_home
    assert record.success, record.evidence
    first, home = record.skills
    assert (home["name"], home["object"], home["part"]) == ("home", first["object"], first["part"])
    assert (home["goes_home"], "goes_home" in first) == (True, False)
    q = record.arrays[Q]
    assert np.abs(q[home["frame_start"]] - q[0]).max() > 0.2
    assert np.abs(q[home["frame_end"]] - q[0]).max() < 0.03
    criteria = CriteriaSource(cfg).derive(record)
    assert (list(criteria.differences(record)), criteria.problems) == ([], ())
    assert recompute_success(record, criteria).success


def test_the_gripper_stays_as_it_is(gone_home: tuple[CollectCfg, EpisodeRecord]) -> None:
    _, record = gone_home
    start = record.skills[1]["frame_start"]
    targets = record.arrays["actions.franka_panda.left.gripper_target"]
    np.testing.assert_array_equal(targets[start:], np.broadcast_to(targets[start - 1], targets[start:].shape))


def test_an_arm_that_is_not_back_is_no_success_for_both_judges(
    gone_home: tuple[CollectCfg, EpisodeRecord],
) -> None:
    cfg, record = gone_home
    q = record.arrays[Q].copy()
    q[record.skills[1]["frame_end"], 3] += 0.05
    forged = replace(record, arrays={**record.arrays, Q: q})
    verdict = recompute_success(forged, CriteriaSource(cfg).derive(record))
    assert (verdict.success, verdict.code, verdict.evidence["name"]) == (False, "not_reached", "home")


def test_a_record_cannot_leave_out_that_the_arm_must_go_home(gone_home: tuple[CollectCfg, EpisodeRecord]) -> None:
    cfg, record = gone_home
    first, home = record.skills
    forged = replace(record, skills=[first, {key: value for key, value in home.items() if key != "goes_home"}])
    (problem,) = CriteriaSource(cfg).derive(forged).differences(forged)
    assert problem == "skills[1].goes_home is nothing in the record, expected True by the configuration."
