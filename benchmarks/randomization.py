"""Measures the cost of `step_randomization`: ten rules on sixteen environments, compared with a physics step.

    python benchmarks/randomization.py

One world contains sixteen Pandas with a ball each. Times the ten rules when none fires and when all fire. Then times
them together with the next physics step, which sets the changed motors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from unlatch import randomization as dr
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import GridCloner
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.cli.terminal import run_guarded

NUM_ENVS = 16
NEVER = 1_000_000
BUDGET_MS = {"nothing fires": 0.3, "all fire": 3.0}


def build_views(world: World) -> tuple[RigidPrimView, ArticulationView]:
    """Builds sixteen balls and sixteen Pandas that hold their home position; returns their views."""
    balls, frankas, drives = [], [], []
    arm = load_robot("franka_panda").arms[0]

    def build(env: int, T_world_env: Pose) -> None:
        T_world_ball = T_world_env @ Pose.from_translation((0.75, 0.0, 0.1))
        balls.append(world.add_sphere(f"env_{env}/ball", radius_m=0.1, T_world_sphere=T_world_ball, mass_kg=1.0))
        body = world.load_urdf(model_path("franka_panda"), name=f"env_{env}/franka", T_world_root=T_world_env)
        body.set_joint_positions(arm.joints, arm.home)
        names = [joint.name for joint in body.movable_joints]
        group = DriveGroup(
            body, {name: JointDrive(DriveMode.servo, max_effort=80.0, max_velocity=2.0) for name in names}, world=world
        )
        group.set_targets(names, body.joint_states()[0], np.zeros(len(names)))
        frankas.append(body)
        drives.append([group])

    world.add_box("ground", size_m=(40.0, 40.0, 1.0), T_world_box=Pose.from_translation((0.0, 0.0, -0.5)))
    origins = GridCloner(spacing=1.5).clone(world, NUM_ENVS, build)
    return (
        RigidPrimView(world, balls, name="ball", origins=origins),
        ArticulationView(world, frankas, name="franka", origins=origins, drives=drives),
    )


def make_rules(world: World, ball: RigidPrimView, franka: ArticulationView, interval: int) -> None:
    """Makes ten rules: five for the balls and gravity, five for the Pandas."""
    uniform, normal = dr.distribution.uniform, dr.distribution.normal
    dr.new_setup()
    dr.physics_view.register_simulation_context(world)
    dr.physics_view.register_rigid_prim_view(ball)
    dr.physics_view.register_articulation_view(franka)
    with dr.trigger.on_rl_frame(num_envs=NUM_ENVS), dr.gate.on_interval(interval):
        dr.physics_view.randomize_simulation_context("scaling", gravity=uniform((1, 1, 0.99), (1, 1, 1.01)))
        dr.physics_view.randomize_rigid_prim_view(
            "ball",
            force=uniform(-0.1, 0.1),
            mass=uniform(0.9, 1.1),
            material_properties=uniform((0.5, 0.5, 0.0), (0.7, 0.7, 0.1)),
            angular_velocity=normal(0.0, 0.01),
        )
        dr.physics_view.randomize_articulation_view(
            "franka",
            "scaling",
            stiffness=uniform(0.9, 1.1),
            max_efforts=uniform(0.9, 1.0),
            joint_friction=uniform(0.9, 1.1),
            joint_max_velocities=uniform(0.9, 1.0),
        )
        dr.physics_view.randomize_articulation_view("franka", joint_velocities=normal(0.0, 0.01))
    dr.orchestrator.run(np.random.default_rng(0))
    assert len(dr.current().rules) == 10  # noqa: S101 - the benchmark has ten rules


def time_calls_ms(function: Callable[[], None], n: int) -> tuple[float, str]:
    """Returns the median CPU time of a call [ms], which other programs affect least, and a text with all times."""
    wall, cpu = [], []
    for _ in range(n):
        start, start_cpu = time.perf_counter(), time.thread_time()
        function()
        cpu.append(1e3 * (time.thread_time() - start_cpu))
        wall.append(1e3 * (time.perf_counter() - start))
    median_cpu = float(np.median(cpu))
    fastest = np.percentile(wall, 10)
    return (
        median_cpu,
        f"CPU {median_cpu:.3f} ms; wall: median {np.median(wall):.3f}, fastest tenth below {fastest:.3f} ms",
    )


def main(n: int = 1000) -> int:
    """Times both cases and prints them with the time of a physics step.

    Args:
        n: Number of timed calls of each case.

    Returns:
        The exit code: 1 if the CPU time exceeds a budget.
    """
    over = False
    with World(WorldCfg()) as world:
        ball, franka = build_views(world)
        print(f"{'one physics step':<18} {time_calls_ms(world.step, n)[1]}")
        for name, interval in (("nothing fires", NEVER), ("all fire", 1)):
            make_rules(world, ball, franka, interval)
            median, text = time_calls_ms(dr.physics_view.step_randomization, n)
            over |= median > BUDGET_MS[name]
            print(f"{name:<18} {text}; at most {BUDGET_MS[name]} ms")

        def both() -> None:
            dr.physics_view.step_randomization()
            world.step()

        print(f"{'with physics step':<18} {time_calls_ms(both, n)[1]}")
    return int(over)


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(*(int(argument) for argument in sys.argv[1:2])), usage=__doc__))
