"""Joints of objects never move more easily than real ones."""

from dataclasses import replace

import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.friction import joint_problems
from unlatch.objects.library import load_object
from unlatch.simcore.rng import stream


@pytest.mark.parametrize(("category", "joint", "least"), [("microwave", "door_hinge", 0.2), ("drawer", None, 1.0)])
def test_joints_that_move_too_easily_are_refused(category, joint, least, tmp_path):
    asset = load_object(ObjectCfg(name="thing", category=category, cache_dir=str(tmp_path)), rng=stream(0, "layout"))
    assert list(joint_problems(asset)) == []
    name = joint or next(iter(asset.friction))
    (problem,) = joint_problems(replace(asset, friction={**asset.friction, name: 0.9 * least}))
    assert f"Joint '{name}' of object 'thing'" in problem.message
    assert f"expected at least {least:g} N" in problem.message
