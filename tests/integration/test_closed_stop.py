"""Doors and drawers with a catch: held below its force at the handle, moved above it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.annotation_entries import Catch, ClosingForces, Gasket
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import handle_lever_m
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.closing_profile import DRAWING_SPEED_M_S
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.body_views import ArticulationView
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration

CASES = ["microwave", "drawer", "dishwasher"]
"""A door on an upright hinge, a slider, and a flap that is hinged below."""
CATCH = Catch(leave_n=30.0, reach_m=0.005, enter_n=14.0)
FORCES = [ClosingForces(catch=CATCH), ClosingForces(gasket=Gasket(pull_n=30.0, reach_m=0.006))]


@pytest.fixture
def floating() -> Iterator[World]:
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        yield world


def put(world: World, category: str, forces: ClosingForces) -> tuple[SceneObject, str]:
    """Puts an object with these forces at its first part, without friction, into a world."""
    asset: ObjectAsset = load_object(
        ObjectCfg(name=category, category=category, instance="0"), rng=np.random.default_rng(0)
    )
    name, part = next(iter(asset.articulation.parts.items()))
    parts = {**asset.articulation.parts, name: replace(part, closing_forces=forces)}
    asset = replace(asset, articulation=replace(asset.articulation, parts=parts), friction={})
    body = world.load_urdf(asset.urdf_path, name=category, T_world_root=Pose.identity())
    return SceneObject(body, asset, world=world), name


def pull(world: World, item: SceneObject, name: str, force_n: float, *, seconds: float = 0.5) -> float:
    """Pulls the handle in the direction in which it opens; returns the opening at the handle [m]."""
    part = item.asset.articulation.part(name)
    joint, body = item.asset.model.joints[part.joint], item.body
    for _ in range(int(240 * seconds)):
        T_world_link = body.link_pose(part.link)
        head = T_world_link @ part.keypoint("articulated_object_head").xyz
        axis = T_world_link.rotate(joint.axis) * part.openness.sign
        way = axis if joint.kind == "prismatic" else np.cross(axis, head - T_world_link.p)
        force = force_n * way / np.linalg.norm(way)
        index = body.link_index(part.link)
        p.applyExternalForce(body.body_id, index, force, head, p.WORLD_FRAME, physicsClientId=world.client)
        world.step()
    opening = part.openness.sign * (item.joint_position(part.joint) - part.openness.closed)
    return float(opening * handle_lever_m(part, item.asset.model))


def creep(world: World, item: SceneObject, name: str, force_n: float, *, start_m: float) -> float:
    """Pulls a part from an opening, at rest before each of 500 steps: its speed must not carry it over the catch."""
    opening = start_m
    for _ in range(500):
        set_opening(item, name, opening)
        opening = pull(world, item, name, force_n, seconds=1 / 240)
    return opening


def set_opening(item: SceneObject, name: str, opening_m: float) -> None:
    part = item.asset.articulation.part(name)
    opening = opening_m / handle_lever_m(part, item.asset.model)
    item.set_joints({part.joint: part.openness.position(opening)})


@pytest.mark.parametrize("forces", FORCES, ids=["catch", "gasket"])
@pytest.mark.parametrize("category", CASES)
def test_a_part_leaves_its_stop_only_above_the_force_at_its_handle(
    floating: World, category: str, forces: ClosingForces
) -> None:
    item, name = put(floating, category, forces)
    assert pull(floating, item, name, 0.9 * 30.0, seconds=1.0) == pytest.approx(0.0, abs=2e-4)
    assert pull(floating, item, name, 1.1 * 30.0, seconds=1.0) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("category", CASES)
def test_a_part_gets_in_only_above_the_force_at_its_handle(floating: World, category: str) -> None:
    item, name = put(floating, category, FORCES[0])
    start = 2.2 * CATCH.reach_m
    assert creep(floating, item, name, -0.9 * CATCH.enter_n, start_m=start) > 1.5 * CATCH.reach_m
    assert creep(floating, item, name, -1.1 * CATCH.enter_n, start_m=start) < 0.3 * CATCH.reach_m


@pytest.mark.parametrize("category", CASES)
def test_a_catch_without_a_force_to_get_in_pulls_the_part_in(floating: World, category: str) -> None:
    item, name = put(floating, category, ClosingForces(catch=Catch(leave_n=20.0, reach_m=0.01)))
    set_opening(item, name, 0.008)
    assert pull(floating, item, name, 0.0, seconds=2.0) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("category", CASES)
def test_a_closed_part_rests_at_its_stop(floating: World, category: str) -> None:
    item, name = put(floating, category, FORCES[0])
    assert pull(floating, item, name, 0.0, seconds=1.0) == pytest.approx(0.0, abs=2e-4)
    assert item.max_joint_speed() < 1e-3


def test_a_part_without_closing_forces_moves_at_once(floating: World) -> None:
    item, name = put(floating, "microwave", ClosingForces())
    assert item.drives.closed_stops == {}
    assert pull(floating, item, name, 1.0, seconds=1.0) > 0.05


def test_the_efforts_of_catch_and_gasket_can_be_changed(floating: World) -> None:
    item, name = put(floating, "microwave", ClosingForces(CATCH, Gasket(pull_n=10.0, reach_m=0.006)))
    lever = handle_lever_m(item.asset.articulation.part(name), item.asset.model)
    view = ArticulationView(floating, [item.body], name="it", drives=[[item.drives]])
    assert view.get("catch_efforts")[0] == pytest.approx([30.0 * lever])
    assert view.get("gasket_efforts")[0] == pytest.approx([10.0 * lever])
    view.attribute("catch_efforts").write(0, np.array([0.0]))
    view.attribute("gasket_efforts").write(0, np.array([5.0 * lever]))
    assert pull(floating, item, name, 0.9 * 5.0) == pytest.approx(0.0, abs=2e-4)
    assert pull(floating, item, name, 1.1 * 5.0, seconds=2.0) > 0.02
    view.attribute("catch_efforts").write(0, np.array([15.0 * lever]))
    stop = item.drives.closed_stops[item.asset.articulation.part(name).joint]
    assert stop.enter_share * stop.catch_effort == pytest.approx(0.5 * CATCH.enter_n * lever)


def test_a_joint_without_a_catch_keeps_none(floating: World) -> None:
    item, _ = put(floating, "microwave", ClosingForces())
    view = ArticulationView(floating, [item.body], name="it", drives=[[item.drives]])
    view.attribute("catch_efforts").write(0, np.array([0.0]))
    assert view.get("catch_efforts").tolist() == view.get("gasket_efforts").tolist() == [[0.0]]
    with pytest.raises(
        WorldError, match=r"An effort of 2 is set for the gasket of a joint without one\. Name `gasket`"
    ):
        view.attribute("gasket_efforts").write(0, np.array([2.0]))


@pytest.mark.parametrize("category", CASES)
def test_a_catch_draws_a_light_part_in_no_faster_than_its_drawing_speed(floating: World, category: str) -> None:
    item, name = put(floating, category, ClosingForces(catch=Catch(leave_n=40.0, reach_m=0.02)))
    part = item.asset.articulation.part(name)
    lever = handle_lever_m(part, item.asset.model)
    index = item.body.link_index(part.link)
    p.changeDynamics(
        item.body.body_id, index, mass=0.5, localInertiaDiagonal=[1e-3] * 3, physicsClientId=floating.client
    )
    set_opening(item, name, 0.018)
    speeds, openings = [], []
    for _ in range(240):
        floating.step()
        speeds.append(item.max_joint_speed() * lever)
        opening = part.openness.sign * (item.joint_position(part.joint) - part.openness.closed)
        openings.append(opening * lever)
    gained = 40.0 / (0.5 / 3) * floating.dt  # in one step, before the speed is seen; a plate on a hinge: a third
    assert max(speeds) < DRAWING_SPEED_M_S + gained
    assert np.mean(np.array(speeds) > 1.1 * DRAWING_SPEED_M_S) < 0.02
    assert openings[-1] == pytest.approx(0.0, abs=1e-3)
    assert min(openings) > -2e-3


def test_after_the_catch_has_braked_a_part_its_friction_is_back(floating: World) -> None:
    item, name = put(floating, "drawer", ClosingForces(catch=Catch(leave_n=40.0, reach_m=0.02)))
    joint = item.asset.articulation.part(name).joint
    item.drives.change("friction", [joint], [5.0])
    set_opening(item, name, 0.018)
    for _ in range(240):
        floating.step()
    set_opening(item, name, 0.1)
    assert pull(floating, item, name, 4.5) == pytest.approx(0.1, abs=1e-3)
    assert pull(floating, item, name, 5.5) > 0.11
