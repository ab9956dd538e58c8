"""The force of a grip follows the load at the handle, inside what the hand can be commanded."""

from dataclasses import replace

import numpy as np
import pytest

from tests.objects.builders import generated
from tests.skills.builders import ARM, part_of
from unlatch.objects.annotation_entries import Catch, ClosingForces
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_instance
from unlatch.robots.catalog import load_robot
from unlatch.skills.gripping import SAFETY_FACTOR, grip_force, handle_load, load_of, steady_load
from unlatch.solver.timing import PART_RISE_HZ, SLIDER_SPEED_M_S

PANDA, XARM = ARM.gripper, load_robot("xarm6").arms[0].gripper

SASH = """<robot name="window">
  <link name="frame"><visual><geometry><box size="0.1 0.6 0.1"/></geometry></visual></link>
  <link name="sash">
    <visual><origin xyz="0 0 0.3"/><geometry><box size="0.04 0.5 0.4"/></geometry></visual>
    <inertial><mass value="1.5"/><inertia ixx="0.05" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="lift" type="prismatic"><parent link="frame"/><child link="sash"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="0.3"/><dynamics friction="20" damping="2"/></joint>
</robot>
"""


def load(asset, *, closing_forces=None):
    (first, *_) = asset.articulation.parts.values()
    return handle_load(asset, replace(first, closing_forces=closing_forces))


def test_the_force_grows_with_the_load_and_stays_in_the_range_of_the_hand():
    forces = [grip_force(PANDA, load) for load in np.linspace(0.0, 100.0, 101)]
    assert np.all(np.diff(forces) >= 0.0)
    assert (forces[0], forces[-1]) == (PANDA.least_force_n, PANDA.grip_force_n)
    assert len(set(forces)) > 10  # between its ends it follows the load: the friction of both pads holds it
    assert 2.0 * PANDA.friction * 0.8 * grip_force(PANDA, 32.0) == pytest.approx(SAFETY_FACTOR * 32.0)
    assert grip_force(replace(PANDA, friction=0.9), 25.0) > grip_force(PANDA, 25.0)
    # a hand without a smallest force
    assert {grip_force(XARM, load) for load in (0.0, 10.0, 1000.0)} == {XARM.grip_force_n}


def test_the_load_of_a_carried_object_is_its_weight_and_inertia_and_that_of_a_part_the_one_at_its_handle():
    can = generated("can")
    mass_kg = sum(link.inertial.mass_kg for link in can.model.links.values())
    assert load_of(can, None) == pytest.approx((9.81 + 5.0) * mass_kg)
    asset, part = part_of("drawer")
    assert load_of(asset, part.name) == handle_load(asset, part)


def test_the_load_of_a_drawer_is_its_friction_damping_and_inertia():
    asset, part = part_of("drawer")
    assert [joint for joint in asset.model.joints.values() if joint.parent == part.link] == []
    resisting_n = asset.friction[part.joint] + SLIDER_SPEED_M_S * asset.damping[part.joint]
    assert load(asset) == pytest.approx(
        resisting_n + asset.model.links[part.link].inertial.mass_kg * PART_RISE_HZ * SLIDER_SPEED_M_S
    )
    knob, turned = part_of("faucet")
    expected = knob.friction[turned.joint] + 0.5 * knob.damping[turned.joint]
    assert steady_load(knob, turned, opens=True) == pytest.approx(expected)


@pytest.mark.parametrize("category", ["drawer", "microwave", "pot", "faucet"])
def test_a_joint_with_more_friction_is_a_heavier_load(category):
    asset, part = part_of(category)
    rougher = replace(asset, friction={**asset.friction, part.joint: asset.friction[part.joint] + 1.0})
    assert load(rougher) > load(asset)


def test_the_force_of_a_catch_adds_to_the_load():
    asset = generated("microwave")
    catch = ClosingForces(Catch(leave_n=20.0, reach_m=0.005))
    assert load(asset, closing_forces=catch) == pytest.approx(load(asset) + 20.0)


def test_the_weight_of_a_lid_counts_and_that_of_an_upright_door_does_not(monkeypatch):
    lid, door = generated("toilet"), generated("refrigerator")
    with_weight = load(lid), load(door)
    monkeypatch.setattr("unlatch.skills.gripping._GRAVITY_M_S2", 0.0)
    assert with_weight[0] > load(lid) + 1.0
    assert with_weight[1] == pytest.approx(load(door))


def test_the_weight_of_a_sash_resists_the_hand_upwards_and_helps_it_downwards(tmp_path):
    (tmp_path / "window.urdf").write_text(SASH)
    where = {"root": str(tmp_path / "window.urdf"), "cache_dir": str(tmp_path / "cache")}
    asset = load_instance(ObjectCfg("window", "window", ObjectSource.urdf, **where))
    (part,) = asset.articulation.parts.values()
    upwards = part.openness.sign * float(asset.model.joints[part.joint].axis[2]) > 0.0
    up_n, down_n = (steady_load(asset, part, opens=opens) for opens in (upwards, not upwards))
    resisting_n = asset.friction[part.joint] + SLIDER_SPEED_M_S * asset.damping[part.joint]
    assert (up_n, down_n) == pytest.approx((resisting_n + 9.81 * 1.5, resisting_n - 9.81 * 1.5))
