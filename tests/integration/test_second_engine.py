"""A recorded opening in a second engine: `benchmarks/mujoco_replay.py`."""

import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import mujoco
import numpy as np
import pybullet as p
import pytest

import unlatch
from unlatch.robots.description import base_pose
from unlatch.robots.models import model_path
from unlatch.simcore.errors import PluginError
from unlatch.simcore.extras import install_command
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.tasks.layout import Layout
from unlatch.workflows.runs.recorded_config import config_of

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("mujoco_replay")


@pytest.fixture(scope="module")
def recorded(collected):
    """A recorded opening and its configuration."""
    data = unlatch.open_dataset(collected("open_microwave", seed=31))
    assert data[0].success
    return data[0], config_of(data)


@pytest.mark.slow
def test_an_opening_opens_the_door_as_far_in_mujoco_as_in_bullet(engine, recorded):
    record, cfg = recorded
    deviation = engine.compare(record, engine.replay_in_mujoco(record, cfg))
    assert deviation.reached, deviation.missed
    assert deviation.hinge_end_rad < 0.05
    assert deviation.arm_most_rad < 0.05


@pytest.mark.slow
def test_the_door_stays_closed_in_mujoco_when_the_fingers_do_not_close(engine, recorded):
    record, cfg = recorded
    key = "actions.franka_panda.left.gripper_target"
    open_hand = replace(record, arrays={**record.arrays, key: np.full_like(record.arrays[key], 0.08)})
    deviation = engine.compare(record, engine.replay_in_mujoco(open_hand, cfg))
    assert not deviation.reached


def bullet_dynamics(world, robot, rng):
    """Returns joints, random positions and velocities, and Bullet's mass matrix and bias torques there."""
    body = world.load_urdf(model_path(robot), name="robot", T_world_root=base_pose(robot), self_collision=True)
    joints = [joint.name for joint in body.movable_joints]
    q, dq = rng.uniform(-0.5, 0.5, len(joints)), rng.uniform(-1.0, 1.0, len(joints))
    where, still = (body.body_id, q.tolist()), [0.0] * len(joints)
    mass = p.calculateMassMatrix(*where, physicsClientId=world.client)
    bias = p.calculateInverseDynamics(*where, dq.tolist(), still, physicsClientId=world.client)
    return joints, q, dq, np.array(mass), np.array(bias)


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("name", ["franka_panda", "xarm6"])
def test_mass_matrix_and_bias_torques_of_a_robot_are_those_of_bullet(name, engine):
    robot, rng = unlatch.load("open_microwave", f"robot={name}").robot, np.random.default_rng(0)
    scene = engine.build_mujoco_scene(robot, {}, Layout({}, {}))
    with World(WorldCfg()) as world:
        joints, q, dq, bullet, bias = bullet_dynamics(world, robot, rng)
    data = mujoco.MjData(scene.model)
    places, dofs = ([find("robot", joint) for joint in joints] for find in (scene.qpos, scene.dof))
    data.qpos[places], data.qvel[dofs] = q, dq
    mujoco.mj_forward(scene.model, data)
    columns = np.zeros((scene.model.nv, scene.model.nv))
    for column, unit in zip(columns, np.eye(scene.model.nv), strict=True):
        mujoco.mj_mulM(scene.model, data, column, unit)
    mass = columns[np.ix_(dofs, dofs)] - np.diag(scene.model.dof_armature[dofs])  # Bullet's loader knows no armature
    np.testing.assert_allclose(mass, bullet, atol=1e-9)
    np.testing.assert_allclose(data.qfrc_bias[dofs], bias, atol=1e-9)


def test_a_hand_without_a_skill_grips_as_hard_as_the_others_within_its_bounds(engine):
    robot = unlatch.load("open_microwave", "robot=dual_panda").robot
    entries = [{"arm": "left", "grip_force_n": force_n} for force_n in (31.0, 42.0)]
    right = replace(robot.arms[1], gripper=replace(robot.arms[1].gripper, grip_force_n=40.0))
    for arms, expected in ((robot.arms, [42.0, 42.0]), ([robot.arms[0], right], [42.0, 40.0])):
        found = engine.with_grip_forces(replace(robot, arms=arms), entries)
        assert [arm.gripper.grip_force_n for arm in found.arms] == expected
    assert engine.with_grip_forces(robot, [{"arm": "left"}]) == robot


def test_a_benchmark_that_replays_nothing_fails(monkeypatch, engine, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = import_module("second_engine")
    monkeypatch.setattr(benchmark, "run_entry", lambda entry, cfg: benchmark.Result(entry, cfg.n))
    assert benchmark.main(["tasks=open_drawer"]) == benchmark.BELOW_AIM
    assert "1 entries, pooled: - reach the goal" in capsys.readouterr().out


def test_a_missing_mujoco_names_the_extra(engine, monkeypatch):
    robot = unlatch.load("open_microwave").robot
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(PluginError, match=re.escape(install_command("bench"))):
        engine.build_mujoco_scene(robot, {}, Layout({}, {}))
