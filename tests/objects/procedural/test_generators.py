"""What every generated object must be, in Bullet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pybullet as p
import pytest

from unlatch.objects import HandleType, ObjectCfg, load_object
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.procedural import drawer, microwave

GENERATORS: dict[str, Any] = {"microwave": microwave, "drawer": drawer}


def _asset(category: str, seed: int, cache_dir: str) -> ObjectAsset:
    cfg = ObjectCfg(name="o", category=category, instance=str(seed), cache_dir=cache_dir)
    return load_object(cfg, rng=np.random.default_rng(0))


def _load(asset: ObjectAsset, client: int) -> int:
    flags = p.URDF_USE_INERTIA_FROM_FILE
    body: int = p.loadURDF(str(asset.urdf_path), useFixedBase=True, flags=flags, physicsClientId=client)
    return body


def _joints(body: int, client: int) -> dict[str, int]:
    return {
        p.getJointInfo(body, k, physicsClientId=client)[1].decode(): k
        for k in range(p.getNumJoints(body, physicsClientId=client))
    }


@pytest.mark.integration
@pytest.mark.parametrize("category", GENERATORS)
def test_bullet_loads_the_urdf_without_warnings(
    category: str, client: int, cache_dir: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for seed in range(5):
        asset = _asset(category, seed, cache_dir)
        capfd.readouterr()
        body = _load(asset, client)
        out, err = capfd.readouterr()
        assert out + err == ""
        joints = _joints(body, client)
        assert set(joints) == set(asset.friction)
        for index in range(-1, len(joints)):
            mass, _, inertia, *_ = p.getDynamicsInfo(body, index, physicsClientId=client)
            if index >= 0:  # a fixed root link has mass 0 in Bullet
                assert mass > 0.5
                assert all(v > 1e-4 for v in inertia)
                assert inertia[0] <= inertia[1] + inertia[2]
                assert inertia[1] <= inertia[0] + inertia[2]
                assert inertia[2] <= inertia[0] + inertia[1]


@pytest.mark.integration
@pytest.mark.parametrize("category", GENERATORS)
def test_bounds_are_those_of_bullet(category: str, client: int, cache_dir: str) -> None:
    for seed in range(5):
        asset = _asset(category, seed, cache_dir)
        body = _load(asset, client)
        boxes = np.array([p.getAABB(body, k, physicsClientId=client) for k in range(-1, len(asset.friction))])
        # Bullet's root link frame is put at its centre of mass: bounds are compared relative to each other.
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        np.testing.assert_allclose(high - low, asset.size_m, atol=0.012)
        p.removeBody(body, physicsClientId=client)


@pytest.mark.integration
@pytest.mark.parametrize("category", GENERATORS)
def test_parts_do_not_pass_through_the_body(category: str, client: int, cache_dir: str) -> None:
    for seed in range(8):
        asset = _asset(category, seed, cache_dir)
        body = _load(asset, client)
        for part in asset.articulation.parts.values():
            index = _joints(body, client)[part.joint]
            for share in np.linspace(0.0, 1.0, 9):
                value = part.openness.closed + share * (part.openness.open - part.openness.closed)
                p.resetJointState(body, index, value, physicsClientId=client)
                p.performCollisionDetection(physicsClientId=client)
                points = p.getClosestPoints(body, body, 0.02, linkIndexA=index, linkIndexB=-1, physicsClientId=client)
                # A distance of 0 would find nothing: Bullet leaves out pairs of one body then. Surfaces that meet when
                # closed overlap by its margins of 1 mm each.
                deepest = min((point[8] for point in points), default=0.0)
                assert deepest > -0.0021, (seed, part.name, share)
            p.resetJointState(body, index, part.openness.closed, physicsClientId=client)
        p.removeBody(body, physicsClientId=client)


@pytest.mark.integration
@pytest.mark.parametrize(("category", "push"), [("microwave", 0.5), ("drawer", 5.0)])
def test_a_small_push_moves_the_joint_over_its_range(category: str, push: float, client: int, cache_dir: str) -> None:
    for seed in (0, 1):
        asset = _asset(category, seed, cache_dir)
        body = _load(asset, client)
        part = next(iter(asset.articulation.parts.values()))
        index = _joints(body, client)[part.joint]
        p.setJointMotorControl2(body, index, p.VELOCITY_CONTROL, force=0.0, physicsClientId=client)
        travel = part.openness.open - part.openness.closed
        for _ in range(480):
            p.setJointMotorControl2(body, index, p.TORQUE_CONTROL, force=push * np.sign(travel), physicsClientId=client)
            p.stepSimulation(physicsClientId=client)
        reached = p.getJointState(body, index, physicsClientId=client)[0] - part.openness.closed
        assert reached / travel > 0.9
        p.removeBody(body, physicsClientId=client)


@pytest.mark.integration
@pytest.mark.parametrize("category", GENERATORS)
def test_fingers_that_wrap_the_handle_touch_nothing_else(category: str, client: int, cache_dir: str) -> None:
    """Two finger boxes stand 1 cm off each side of the handle and reach 1 cm beyond its middle."""
    for seed in range(20):
        asset = _asset(category, seed, cache_dir)
        body = _load(asset, client)
        part = next(iter(asset.articulation.parts.values()))
        assert part.handle.T_link_handle is not None
        thickness = float(part.handle.size[1])
        assert 0.009 <= thickness <= 0.045
        index = _joints(body, client)[part.joint]
        state = p.getLinkState(body, index, computeForwardKinematics=1, physicsClientId=client)
        pose = part.handle.T_link_handle
        finger = p.createCollisionShape(p.GEOM_BOX, halfExtents=[0.025, 0.005, 0.011], physicsClientId=client)
        for side in (-1.0, 1.0):
            centre = pose @ np.array([0.015, side * (thickness / 2 + 0.01), 0.0])
            position, orientation = p.multiplyTransforms(state[4], state[5], centre.tolist(), pose.quat_xyzw.tolist())
            box = p.createMultiBody(0.0, finger, -1, position, orientation, physicsClientId=client)
            assert not p.getClosestPoints(box, body, 0.002, physicsClientId=client), (seed, side)
            p.removeBody(box, physicsClientId=client)
        p.removeBody(body, physicsClientId=client)


@pytest.mark.integration
@pytest.mark.parametrize("category", GENERATORS)
def test_the_opening_behind_the_part_is_hollow(category: str, client: int, cache_dir: str) -> None:
    for seed in range(5):
        asset = _asset(category, seed, cache_dir)
        body = _load(asset, client)
        for index in _joints(body, client).values():
            p.setCollisionFilterGroupMask(body, index, 0, 0, physicsClientId=client)
        part = next(iter(asset.articulation.parts.values()))
        index = _joints(body, client)[part.joint]
        state = p.getLinkState(body, index, computeForwardKinematics=1, physicsClientId=client)
        push = part.keypoints["link_contact_point"].xyz
        shift = -0.5 * push[1] if category == "microwave" else -push[1]
        start, _ = p.multiplyTransforms(state[4], state[5], [push[0], push[1] + shift, 0.0], [0, 0, 0, 1])
        depth = 0.8 * float(asset.size_m[0] - 0.1)
        (hit,) = p.rayTest(start, [start[0] - depth, start[1], start[2]], physicsClientId=client)
        assert hit[0] == -1, seed
        p.removeBody(body, physicsClientId=client)


@pytest.mark.parametrize("category", GENERATORS)
def test_parameters_stay_in_their_ranges(category: str) -> None:
    for seed in range(200):
        made = GENERATORS[category].generate(seed)
        values = made.parameters
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


def test_objects_vary() -> None:
    ovens = [microwave.generate(seed) for seed in range(40)]
    assert {oven.parameters["hinge_side"] for oven in ovens} == {"left", "right"}
    assert {oven.parameters["handle_section"] for oven in ovens} == {"round", "box"}
    assert {np.sign(oven.articulation.part("door").openness.open) for oven in ovens} == {-1.0, 1.0}
    cabinets = [drawer.generate(seed) for seed in range(40)]
    assert {cabinet.parameters["handle_kind"] for cabinet in cabinets} == {"bar", "knob"}
    assert {tuple(cabinet.articulation.parts) for cabinet in cabinets} == {("drawer",), ("drawer", "drawer_2")}


@pytest.mark.parametrize("category", GENERATORS)
def test_the_door_opens_away_from_the_front_and_the_push_point_is_clear(category: str) -> None:
    for seed in range(50):
        made = GENERATORS[category].generate(seed)
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
