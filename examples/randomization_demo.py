"""Randomizes four Pandas and four balls in one world, at resets and between resets."""

from __future__ import annotations

import sys

import numpy as np

from unlatch import randomization as dr
from unlatch.robots import load_robot, model_path
from unlatch.sim import (
    ArticulationView,
    DriveGroup,
    DriveMode,
    GridCloner,
    JointDrive,
    Pose,
    RigidPrimView,
    World,
    WorldCfg,
)


def main(n_frames: int = 1000) -> None:
    """Runs the demo.

    Args:
        n_frames: Steps of the simulation.
    """
    # create the world
    with World(WorldCfg()) as world:
        world.add_box("ground", size_m=(40.0, 40.0, 1.0), T_world_box=Pose.from_translation((0.0, 0.0, -0.5)))

        # set up grid cloner
        cloner = GridCloner(spacing=1.5)

        # set up one environment
        balls, frankas, drives = [], [], []

        def environment(env: int, T_world_env: Pose) -> None:
            T_world_object = T_world_env @ Pose.from_translation((0.75, 0.0, 0.2))
            balls.append(
                world.add_sphere(f"env_{env}/object", radius_m=0.1, T_world_sphere=T_world_object, mass_kg=1.0)
            )
            franka = world.load_urdf(model_path("franka_panda"), name=f"env_{env}/franka", T_world_root=T_world_env)
            arm = load_robot("franka_panda").arms[0]
            franka.set_joint_positions(arm.joints, arm.home)
            frankas.append(franka)
            drives.append([_held_at_home(world, franka.name)])

        # clone environments
        num_envs = 4
        env_pos = cloner.clone(world, num_envs, environment)

        # create the views
        object_view = RigidPrimView(world, balls, name="object_view", origins=env_pos)
        franka_view = ArticulationView(world, frankas, name="franka_view", origins=env_pos, drives=drives)

        num_dof = franka_view.num_dof

        # set up randomization
        dr.new_setup()
        dr.physics_view.register_simulation_context(world)
        dr.physics_view.register_rigid_prim_view(object_view)
        dr.physics_view.register_articulation_view(franka_view)

        with dr.trigger.on_rl_frame(num_envs=num_envs):
            with dr.gate.on_interval(interval=20):
                dr.physics_view.randomize_simulation_context(
                    operation="scaling",
                    gravity=dr.distribution.uniform((1, 1, 0.0), (1, 1, 2.0)),
                )
            with dr.gate.on_interval(interval=50):
                dr.physics_view.randomize_rigid_prim_view(
                    view_name=object_view.name,
                    operation="direct",
                    force=dr.distribution.uniform((0, 0, 2.5), (0, 0, 5.0)),
                )
            with dr.gate.on_interval(interval=10):
                dr.physics_view.randomize_articulation_view(
                    view_name=franka_view.name,
                    operation="direct",
                    joint_velocities=dr.distribution.uniform(tuple([-2] * num_dof), tuple([2] * num_dof)),
                )
            with dr.gate.on_env_reset():
                dr.physics_view.randomize_rigid_prim_view(
                    view_name=object_view.name,
                    operation="additive",
                    position=dr.distribution.normal((0.0, 0.0, 0.0), (0.2, 0.2, 0.0)),
                    velocity=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                )
                dr.physics_view.randomize_articulation_view(
                    view_name=franka_view.name,
                    operation="additive",
                    joint_positions=dr.distribution.uniform(tuple([-0.5] * num_dof), tuple([0.5] * num_dof)),
                    position=dr.distribution.normal((0.0, 0.0, 0.0), (0.2, 0.2, 0.0)),
                )
        dr.orchestrator.run(np.random.default_rng(0))

        for frame_idx in range(n_frames):
            reset_inds: list[int] | np.ndarray = []
            if frame_idx % 200 == 0:
                # triggers reset every 200 steps
                reset_inds = np.arange(num_envs)
            dr.physics_view.step_randomization(reset_inds)
            if len(reset_inds):
                _report(frame_idx, object_view, franka_view)
            world.step()


def _held_at_home(world: World, name: str) -> DriveGroup:
    """Returns motors that hold a robot in its current position."""
    body = world.bodies[name]
    joints = body.movable_joints
    group = DriveGroup(
        body,
        {
            joint.name: JointDrive(DriveMode.servo, max_effort=joint.max_effort, max_velocity=joint.max_velocity)
            for joint in joints
        },
        world=world,
    )
    positions, velocities, _ = body.joint_states()
    group.set_targets([joint.name for joint in joints], positions, 0.0 * velocities)
    return group


def _report(frame_idx: int, object_view: RigidPrimView, franka_view: ArticulationView) -> None:
    """Prints the positions after a reset, each in the frame of its environment."""
    print(f"frame {frame_idx}")
    for env, (p_ball, p_franka) in enumerate(
        zip(object_view.get("position"), franka_view.get("position"), strict=True)
    ):
        print(f"  environment {env}: object at {np.round(p_ball, 3)}, franka at {np.round(p_franka, 3)}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
