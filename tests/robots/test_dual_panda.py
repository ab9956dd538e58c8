"""Two Pandas on one stand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unlatch.robots.checks import check_robot
from unlatch.robots.dual_panda import BASE_Y_M, dual_panda, dual_panda_urdf
from unlatch.robots.dual_panda import urdf_path as dual_panda_path
from unlatch.robots.franka_panda import franka_panda, urdf_path
from unlatch.robots.hand_shape import hand_shape
from unlatch.robots.model import model_path
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics


def test_each_arm_is_the_single_one_beside_the_middle():
    (single,) = franka_panda().arms
    model = read_urdf(model_path("dual_panda"))
    one = Kinematics.from_urdf(urdf_path(), base_link=single.base_link, tip_link=single.ee_link)
    for arm in dual_panda().arms:
        assert (arm.home, arm.lower, arm.upper, arm.max_effort) == (
            single.home,
            single.lower,
            single.upper,
            single.max_effort,
        )
        np.testing.assert_allclose(model.link_pose(arm.base_link).p, [0.0, BASE_Y_M[arm.name], 0.02])
        found = Kinematics.from_urdf(model_path("dual_panda"), base_link=arm.base_link, tip_link=arm.ee_link)
        q = np.array(arm.home) + 0.1
        np.testing.assert_array_equal(found.fk(q), one.fk(q))


def test_the_arms_are_named_by_the_side_on_which_they_stand():
    arms = dual_panda().arms
    assert [arm.name for arm in arms] == ["left", "right"]
    assert BASE_Y_M["left"] > 0.0 > BASE_Y_M["right"]
    assert all(name.startswith(f"{arm.name}_") for arm in arms for name in (*arm.joints, *arm.forbidden_links))


def test_both_hands_have_the_shape_of_the_single_one():
    cfg = dual_panda()
    single = hand_shape("franka_panda", franka_panda().arms[0])
    for arm in cfg.arms:
        shape = hand_shape("dual_panda", arm)
        np.testing.assert_allclose(shape.boxes(0.04)[0], single.boxes(0.04)[0], atol=1e-12)
        np.testing.assert_allclose(shape.boxes(0.04)[1], single.boxes(0.04)[1], atol=1e-12)


def test_the_description_fits_its_model_and_its_makers_limits():
    check_robot(dual_panda(), object_friction=0.8)


def test_the_model_is_made_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    path = dual_panda_path()
    assert path.is_relative_to(tmp_path)
    assert path.read_text() == dual_panda_urdf(urdf_path())
    assert dual_panda_path() == path
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "again"))
    assert dual_panda_path().read_bytes() == path.read_bytes()
