"""Hold: one arm keeps a handle while the other acts, judged by its contacts alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.integration.episodes import assert_replays, assert_success
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import HOLD_PHASE
from unlatch.skills.commands import Phase
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FORCE = "contacts.dual_panda.right.pot.fingers_link.force_max_n"


@pytest.fixture(scope="module")
def cfg() -> CollectCfg:
    return load("open_pot_held", "object.instance=3")


@pytest.fixture(scope="module")
def record(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    return episode("open_pot_held", "object.instance=3")


def test_the_lid_moves_only_while_the_handle_is_held(cfg, record):
    assert_success(record, cfg)
    _, held, opened = record.skills
    assert (held["arm"], held["link"], held["holds"], opened["arm"]) == ("right", "body", True, "left")
    assert held["frame_start"] < opened["frame_start"] < opened["frame_end"] <= held["frame_end"]
    assert Phase.hold.value == HOLD_PHASE
    rows = np.flatnonzero(record.arrays["skills.right.phase"][1:] == HOLD_PHASE)
    assert rows[0] <= opened["frame_start"]
    assert rows[-1] >= opened["frame_end"] - 1
    assert record.arrays[FORCE].ravel()[rows].min() > 10.0
    moving = np.flatnonzero(np.abs(np.diff(record.arrays["objects.pot.joint_positions"][:, 0])) > 1e-4)
    assert set(moving) <= set(rows)


def test_its_replay_is_exact(cfg: CollectCfg, record: EpisodeRecord) -> None:
    assert_replays(record, cfg)
