"""Slip of a carried object: what counts is the spot between the pads, and the turn in the hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.skills.carrying import CarryingSkill
from unlatch.skills.pick import Pick

HEAD = np.array([0.0, 0.0, 0.1])
"""The spot between the pads, in the frame of the hand [m]."""
ROOT_BELOW_M = 0.12
"""How far the root of the object is from that spot [m]."""


def failures_after(monkeypatch, turn_rad, shift_m):
    """Returns the failures after the object turned about the spot between the pads, and was shifted, in the hand."""
    here = SimpleNamespace(pose=Pose(np.eye(3), HEAD + np.array([0.0, 0.0, ROOT_BELOW_M])))
    arm = SimpleNamespace(
        T_base_ee=Pose(np.eye(3), np.zeros(3)),
        T_world_base=Pose(np.eye(3), np.zeros(3)),
        cfg=SimpleNamespace(keypoints={"tool_head": HEAD.tolist()}),
    )
    values = {
        "is_carrying": True,
        "object": SimpleNamespace(body=SimpleNamespace(root_pose=lambda: here.pose)),
        "phase": SimpleNamespace(name="follow"),
        "object_name": "cup",
    }
    for name, value in values.items():
        monkeypatch.setattr(Pick, name, value, raising=False)
    skill = Pick.__new__(Pick)
    skill.context = SimpleNamespace(arm=arm, frames=lambda seconds: 5)
    force = SimpleNamespace(get_value=lambda: 1.0)
    skill.views = SimpleNamespace(fingers_link=SimpleNamespace(force_max_n=force))
    skill._T_ee_object, skill._lost_frames = None, 0
    codes = []
    skill.fail = lambda code, message, **evidence: codes.append(code)
    CarryingSkill.check_frame(skill)
    c, s = np.cos(turn_rad), np.sin(turn_rad)
    R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    here.pose = Pose(R, HEAD + R @ [0.0, 0.0, ROOT_BELOW_M] + [shift_m, 0.0, 0.0])
    CarryingSkill.check_frame(skill)
    return codes


@pytest.mark.parametrize(
    ("turn_rad", "shift_m", "codes"),
    [(0.3, 0.0, []), (0.0, 0.015, []), (0.0, 0.025, ["slipped"]), (0.7, 0.0, ["slipped"])],
    ids=["a turn between the pads", "a small shift", "a large shift", "a large turn"],
)
def test_slip_is_measured_at_the_spot_between_the_pads(monkeypatch, turn_rad, shift_m, codes):
    assert failures_after(monkeypatch, turn_rad, shift_m) == codes
