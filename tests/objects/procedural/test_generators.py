"""What generated microwaves and drawers must be, beyond the contract of every category."""

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.annotation import HandleType
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer

GENERATORS = {"microwave": microwave, "drawer": drawer}


@pytest.mark.integration
@pytest.mark.parametrize("category", GENERATORS)
def test_the_opening_behind_the_part_is_hollow(category, client, cache_dir):
    for seed in range(5):
        cfg = ObjectCfg(name="o", category=category, instance=str(seed), cache_dir=cache_dir)
        asset = load_object(cfg, rng=np.random.default_rng(0))
        body = p.loadURDF(str(asset.urdf_path), useFixedBase=True, physicsClientId=client)
        joints = {
            p.getJointInfo(body, k, physicsClientId=client)[1].decode(): k
            for k in range(p.getNumJoints(body, physicsClientId=client))
        }
        for index in joints.values():
            p.setCollisionFilterGroupMask(body, index, 0, 0, physicsClientId=client)
        part = next(iter(asset.articulation.parts.values()))
        index = joints[part.joint]
        state = p.getLinkState(body, index, computeForwardKinematics=1, physicsClientId=client)
        push = part.keypoints["link_contact_point"].xyz
        shift = -0.5 * push[1] if category == "microwave" else -push[1]
        start, _ = p.multiplyTransforms(state[4], state[5], [push[0], push[1] + shift, 0.0], [0, 0, 0, 1])
        depth = 0.8 * float(asset.size_m[0] - 0.1)
        (hit,) = p.rayTest(start, [start[0] - depth, start[1], start[2]], physicsClientId=client)
        assert hit[0] == -1, seed
        p.removeBody(body, physicsClientId=client)


@pytest.mark.slow
@pytest.mark.parametrize("category", GENERATORS)
def test_parameters_stay_in_their_ranges(category):
    for seed in range(200):
        made = GENERATORS[category](seed)
        values = made.parameters
        for part in made.articulation.parts.values():
            inertial = made.model.links[part.link].inertial
            assert inertial is not None
            assert inertial.mass_kg > 0.5
            assert np.linalg.eigvalsh(inertial.inertia).min() > 1e-4
            assert 0.009 <= float(part.handle.size[1]) <= 0.045
        if category == "microwave":
            assert 0.44 <= float(values["width_m"]) <= 0.54
            assert 0.2 <= made.friction["door_hinge"] <= 1.0
            assert 0.012 <= float(values["handle_thickness_m"]) <= 0.022
            assert 0.03 <= float(values["handle_standoff_m"]) <= 0.045
        else:
            assert all(v >= 1.0 for v in made.friction.values())
            assert 0.22 <= float(values["travel_m"]) <= 0.32
            part = made.articulation.part("drawer")
            height = made.model.link_pose("drawer").p[2]
            assert 0.13 <= height <= 0.35, "a hand across a horizontal bar clears the ground"
            assert part.handle.type in (HandleType.bar, HandleType.knob)


@pytest.mark.slow
def test_objects_vary():
    ovens = [microwave(seed) for seed in range(40)]
    assert {oven.parameters["hinge_side"] for oven in ovens} == {"left", "right"}
    assert {oven.parameters["handle_section"] for oven in ovens} == {"round", "box"}
    assert {np.sign(oven.articulation.part("door").openness.open) for oven in ovens} == {-1.0, 1.0}
    cabinets = [drawer(seed) for seed in range(40)]
    assert {cabinet.parameters["handle_kind"] for cabinet in cabinets} == {"bar", "knob"}
    assert {tuple(cabinet.articulation.parts) for cabinet in cabinets} == {("drawer",), ("drawer", "drawer_2")}


@pytest.mark.parametrize("category", GENERATORS)
def test_the_door_opens_away_from_the_front_and_the_push_point_is_clear(category):
    for seed in range(50):
        made = GENERATORS[category](seed)
        part = next(iter(made.articulation.parts.values()))
        joint = made.model.joints[part.joint]
        head = part.keypoints["articulated_object_head"].xyz
        small = 0.1 * (part.openness.open - part.openness.closed)
        moved = joint.child_pose(part.openness.closed + small) @ head - joint.child_pose(part.openness.closed) @ head
        assert moved[0] > 0.01, "the front faces +x of the root frame"
        push = part.keypoints["link_contact_point"].xyz
        assert part.handle.T_link_handle is not None
        gap = np.abs(part.handle.T_link_handle.inverse().rotate(push - head)) - part.handle.size / 2
        assert gap[1:].max() > 0.045, "closed fingers fit beside the handle"
