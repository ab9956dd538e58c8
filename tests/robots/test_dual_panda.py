"""Two Pandas on one stand."""

import numpy as np

from unlatch.robots.catalog import load_robot
from unlatch.robots.checks import check_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.robots.made_models import BASE_Y_M, dual_panda_text
from unlatch.robots.models import model_path
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics


def test_each_arm_is_the_single_one_beside_the_middle():
    (single,) = load_robot("franka_panda").arms
    model = read_urdf(model_path("dual_panda"))
    one = Kinematics.from_urdf(model_path("franka_panda"), base_link=single.base_link, tip_link=single.ee_link)
    for arm in load_robot("dual_panda").arms:
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
    arms = load_robot("dual_panda").arms
    assert [arm.name for arm in arms] == ["left", "right"]
    assert BASE_Y_M["left"] > 0.0 > BASE_Y_M["right"]
    assert all(name.startswith(f"{arm.name}_") for arm in arms for name in (*arm.joints, *arm.forbidden_links))


def test_both_hands_have_the_shape_of_the_single_one():
    cfg = load_robot("dual_panda")
    single = hand_shape("franka_panda", load_robot("franka_panda").arms[0])
    for arm in cfg.arms:
        shape = hand_shape("dual_panda", arm)
        np.testing.assert_allclose(shape.boxes(0.04)[0], single.boxes(0.04)[0], atol=1e-12)
        np.testing.assert_allclose(shape.boxes(0.04)[1], single.boxes(0.04)[1], atol=1e-12)


def test_the_description_fits_its_model_and_its_makers_limits():
    check_robot(load_robot("dual_panda"), object_friction=0.8)


def test_the_model_is_made_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    path = model_path("dual_panda")
    assert path.is_relative_to(tmp_path)
    assert path.read_text() == dual_panda_text(model_path("franka_panda"))
    assert model_path("dual_panda") == path
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "again"))
    assert model_path("dual_panda").read_bytes() == path.read_bytes()
