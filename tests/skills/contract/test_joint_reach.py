"""A target beyond the range of a joint is refused before the search, with the range."""

from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.objects.annotation import Openness
from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint
from unlatch.skills.close import Close
from unlatch.skills.context import describe_reach, is_reachable
from unlatch.solver.setting import FollowJointCfg


def slider(kind="prismatic"):
    return Joint("slide", kind, "body", "drawer", Pose.identity(), lower=0.0, upper=0.3)


class PullFar(Close):
    def default_target(self):
        return 5.0


def skill_with(follow, kind=PullFar, *, moves_little=False):
    skill = object.__new__(kind)
    setting = SimpleNamespace(follow_joint=follow, approach_width_m=None, drags=False)
    skill.cfg = SimpleNamespace(planner_setting=setting)
    openness = Openness(closed=0.0, open=0.3)
    skill.part = SimpleNamespace(name="drawer0", joint="slide", openness=openness, moves_little=moves_little)
    skill.object_name = "drawer"
    skill.object = SimpleNamespace(asset=SimpleNamespace(model=SimpleNamespace(joints={"slide": slider()})))
    return skill


def test_a_target_of_the_code_beyond_the_range_is_refused_before_anything_is_planned():
    message = (
        r"^PullFar leads 'drawer0' of 'drawer' to 5 m, which its joint cannot reach. Expected 0 to 0.3 m \(at most "
        r"0.01 m past a limit, to push against it\). Change what `default_target` or `follow_to` returns.$"
    )
    with pytest.raises(SkillError, match=message):
        skill_with(None).plan(np.random.default_rng(0))


def test_a_target_of_the_planner_setting_is_checked_with_the_configuration_only():
    skill_with(FollowJointCfg(to=0.2))._check_target()


def test_of_a_part_that_moves_little_only_the_target_of_close_itself_may_lie_beyond_its_stop():
    skill_with(None, Close, moves_little=True)._check_target()
    with pytest.raises(SkillError, match="5 m, which its joint cannot reach"):
        skill_with(None, moves_little=True)._check_target()


@pytest.mark.parametrize(
    ("position", "kind", "reachable"),
    [(0.3, "prismatic", True), (0.309, "prismatic", True), (0.32, "prismatic", False), (9.0, "continuous", True)],
)
def test_a_part_may_be_pushed_a_little_past_its_limit(position, kind, reachable):
    assert is_reachable(slider(kind), position) == reachable


def test_the_range_of_a_hinge_is_in_radians():
    assert describe_reach(slider("revolute")) == "0 to 0.3 rad (at most 0.05 rad past a limit, to push against it)"
