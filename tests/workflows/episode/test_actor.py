"""What moves the arms decides which arrays a record has, and who moved them is found in a record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.episode.criteria import TAKEOVER, Actor, find_actor, takeover_frame
from unlatch.workflows.episode.episode import EpisodeOptions


@pytest.mark.parametrize(
    ("actor", "disturbed", "has_labels", "may_push"),
    [
        (Actor.planner, False, False, False),
        (Actor.planner, True, True, True),
        (Actor.policy, True, False, False),
        (Actor.both, False, True, False),
        (Actor.both, True, True, False),
        (Actor.record, True, False, False),
    ],
)
def test_who_moves_the_arms_decides_which_arrays_a_record_has(actor, disturbed, has_labels, may_push):
    disturb = SimpleNamespace(moves_targets=disturbed, nudge_probability=0.5 if disturbed else 0.0)
    cfg: Any = SimpleNamespace(disturb=disturb)
    assert actor.records_labels(cfg) == has_labels
    assert actor.may_push(cfg) == may_push


def test_a_record_of_an_evaluation_is_that_of_a_policy():
    assert find_actor(EpisodeRecord(0, 0, True), is_evaluation=True) is Actor.policy


def test_a_takeover_and_labels_that_no_planner_gave_are_those_of_a_policy_and_the_planner():
    taken_over = EpisodeRecord(0, 0, True, events=[{"event": TAKEOVER, "frame": 3}])
    unlabelled = EpisodeRecord(0, 0, True, arrays={"labels.panda.left.valid": np.array([False, True])})
    assert [find_actor(record, is_evaluation=False) for record in (taken_over, unlabelled)] == [Actor.both] * 2
    assert takeover_frame(taken_over) == 3
    assert find_actor(EpisodeRecord(0, 0, True), is_evaluation=False) is Actor.planner


def test_options_do_not_change_once_they_are_made():
    options: Any = EpisodeOptions()
    with pytest.raises(AttributeError, match="cannot assign"):
        options.actor = Actor.policy
