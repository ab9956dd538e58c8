"""The judge of a goal: which joints rest while the scene settles."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.workflows.episode.goal import GoalJudge


@dataclass
class MovedObject:
    """An object with one joint, a hinge or a slider, that the test moves."""

    prismatic: bool
    s: float = 0.0
    joint_names: list[str] = field(default_factory=lambda: ["joint"])

    @property
    def body(self) -> SimpleNamespace:
        return SimpleNamespace(
            joint_states=lambda: (np.array([self.s]), np.zeros(1), np.zeros(1)),
            joint=lambda name: SimpleNamespace(prismatic=self.prismatic),
        )


@pytest.mark.parametrize(("prismatic", "allowed"), [(False, 0.02), (True, 0.005)])
@pytest.mark.parametrize(("share", "rests"), [(0.99, True), (1.01, False), (-0.99, True), (-1.01, False)])
def test_a_joint_rests_up_to_the_tolerance_of_its_kind(prismatic: bool, allowed: float, share: float, rests: bool):
    item = MovedObject(prismatic)
    cfg = SimpleNamespace(task=SimpleNamespace(goal=[]), world=SimpleNamespace(record_hz=30))
    judge = GoalJudge(cfg, {"box": item})
    judge.act_on(("box", 0), 0.0)
    item.s = share * allowed
    judge.observe()
    item.s = 0.0
    judge.observe()
    assert [failure.code for failure in judge.failures_since(0)] == ([] if rests else ["unsettled"])
    assert judge.settle_entry(0, 2)["max_changes"] == {"box.0": allowed}
