"""`success_mode` means the same for skills and for the verdict that is computed from a record."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.objects.annotation import Openness
from unlatch.simcore.recording.broken_rules import JudgedSkill, missed_threshold
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.catalog import SKILLS
from unlatch.skills.context import Displacement
from unlatch.solver.setting import SuccessMode

POSITIONS = st.floats(-2.0, 2.0)


@pytest.mark.property
@given(st.sampled_from(SuccessMode), POSITIONS, POSITIONS, st.sampled_from([1.6, -1.6]), st.floats(0.0, 2.0))
def test_skills_and_verdict_agree(mode, s, s0, s_open, threshold):
    found = Displacement.of(mode, s=s, s0=s0, openness=Openness(closed=0.0, open=s_open), threshold=threshold)
    entry = {
        "name": "any",
        "object": "box",
        "joint_index": 0,
        "finger_contact_required": False,
        "collision_valid_enabled": False,
        "process_valid_enabled": False,
        "contact_force_threshold_n": 1.0,
        "finger_force_limit_n": 140.0,
        "success_mode": mode.value,
        "success_threshold": threshold,
        "s_closed": 0.0,
        "s_open": s_open,
        "s0": s0,
        "frame_start": 0,
        "frame_end": 1,
    }
    arrays = {"time": np.array([0.0, 1.0]), "objects.box.joint_positions": np.array([[s0], [s]])}
    record = EpisodeRecord(number=0, seed=0, success=True, skills=[entry], arrays=arrays)
    assert found.enough == (not list(missed_threshold(JudgedSkill.read(record, 0))))


@pytest.mark.parametrize("name", [name for name in SKILLS.own_names() if SKILLS.load(name).success_modes])
def test_every_skill_can_be_judged_by_a_share_of_the_range(name):
    assert SuccessMode.fraction in SKILLS.load(name).success_modes
