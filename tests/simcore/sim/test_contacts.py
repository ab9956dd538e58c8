"""Contact views measure force by pair and keep the first one above the threshold; loads sum the forces on a finger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView, FingerLoads
from unlatch.simcore.sim.drives import DriveGroup
from unlatch.simcore.sim.joint_drive import DriveMode, JointDrive
from unlatch.simcore.sim.world import World, WorldCfg


def test_force_is_that_of_the_motor_that_presses(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="robot", T_world_root=Pose.identity())
    world.add_box("wall", size_m=(0.1, 1, 1), T_world_box=Pose.from_translation((0.2, 0, 0)))
    drives = DriveGroup(body, {"rail": JointDrive(DriveMode.servo, max_effort=7.0, max_velocity=1.0)})
    drives.set_targets(["rail"], np.array([0.5]), np.zeros(1))
    monitor = ContactMonitor(world, body)
    wall = monitor.add(ContactView("robot.environment", lambda _link, other, _l: other == "wall"))
    nothing = monitor.add(ContactView("robot.nothing", lambda _link, other, _l: other == "elsewhere"))
    wall.watch(1.0)
    nothing.watch(1.0)
    for _ in range(240):
        world.step()
        monitor.sample()
    monitor.end_frame()
    for _ in range(8):
        world.step()
        monitor.sample()
    monitor.end_frame()
    assert float(wall.force_mean_n.get_value()) == pytest.approx(7.0, rel=0.02)
    assert wall.violation is not None
    assert wall.violation.pair == ("sled", "wall")
    assert wall.violation.force_n > 1.0
    assert 0 < wall.violation.physics_step <= 240
    assert nothing.violation is None
    assert float(nothing.force_max_n.get_value()) == 0.0


def test_the_first_violation_stays() -> None:
    view = ContactView("v", lambda *_: True)
    view.watch(1.0)
    view.sample({("a", "b"): 0.9}, step=1, time_s=0.1)
    view.sample({("a", "b"): 1.1}, step=2, time_s=0.2)
    view.sample({("c", "d"): 50.0}, step=3, time_s=0.3)
    assert view.violation is not None
    assert (view.violation.pair, view.violation.force_n, view.violation.physics_step) == (("a", "b"), 1.1, 2)


def test_points_without_force_are_counted_and_not_judged() -> None:
    view = ContactView("v", lambda *_: True)
    view.watch(0.0)
    view.sample({("a", "b"): 0.0}, step=1, time_s=0.1)
    assert view.violation is None
    assert view.zero_force_points == 1


def test_a_frame_is_the_largest_and_the_mean_over_its_steps() -> None:
    view = ContactView("v", lambda *_: True)
    for step, force in enumerate((0.0, 2.0, 4.0, 2.0)):
        view.sample({("a", "b"): force, ("a", "c"): 0.5 * force}, step=step, time_s=0.0)
    view.end_frame()
    assert float(view.force_max_n.get_value()) == 4.0
    assert float(view.force_mean_n.get_value()) == 2.0
    view.end_frame()
    assert float(view.force_max_n.get_value()) == 0.0


def frames_of(steps_n: Sequence[Sequence[float]], *, frame_steps: int, physics_hz: float = 240.0) -> np.ndarray:
    """Returns largest, mean and sustained force of each frame, (frames, 3), of the forces on two fingers by step."""
    loads = FingerLoads("r.a.fingers", [frozenset("l"), frozenset("r")], physics_hz=physics_hz)
    found = []
    for start in range(0, len(steps_n), frame_steps):
        for forces_n in steps_n[start : start + frame_steps]:
            loads.sample(forces_n)
        loads.end_frame()
        found.append(
            [buffer.get_value() for buffer in (loads.force_max_n, loads.force_mean_n, loads.force_sustained_n)]
        )
    return np.array(found, dtype=float)


def test_largest_and_mean_force_are_those_of_the_finger_that_bears_most():
    found = frames_of([(0.0, 0.0), (3.0, 1.0), (2.0, 9.0), (0.0, 4.0)], frame_steps=4)
    assert found.tolist() == [[9.0, 4.0, 0.0]]


def test_a_force_is_sustained_from_the_fifth_step_on_at_240_hz():
    four, five = [(9.0, 0.0)] * 4 + [(0.0, 0.0)] * 4, [(9.0, 0.0)] * 5 + [(0.0, 0.0)] * 3
    assert frames_of(four, frame_steps=8)[:, 2].tolist() == [0.0]
    assert frames_of(five, frame_steps=8)[:, 2].tolist() == [9.0]


@pytest.mark.parametrize(("physics_hz", "steps"), [(100.0, 3), (240.0, 5), (250.0, 6), (480.0, 10), (1000.0, 21)])
def test_sustained_means_longer_than_20_ms_at_every_rate(physics_hz: float, steps: int):
    for n, expected in ((steps - 1, 0.0), (steps, 7.0)):
        course = [(0.0, 7.0)] * n + [(0.0, 0.0)] * (40 - n)
        assert frames_of(course, frame_steps=40, physics_hz=physics_hz)[0, 2] == expected
    assert (steps - 1) / physics_hz <= 0.02 < steps / physics_hz


def test_a_sustained_force_is_the_least_of_its_steps_and_the_largest_of_the_frame():
    course = [(5.0, 0.0), (8.0, 0.0), (7.0, 0.0), (6.0, 0.0), (9.0, 0.0), (6.5, 0.0), (1.0, 0.0), (9.0, 0.0)]
    assert frames_of(course, frame_steps=8)[0, 2] == 6.0


def test_two_fingers_in_turn_bear_nothing_sustained():
    course = [(9.0, 0.0), (9.0, 0.0), (9.0, 0.0), (0.0, 9.0), (0.0, 9.0), (0.0, 9.0), (9.0, 0.0), (9.0, 0.0)]
    found = frames_of(course, frame_steps=8)
    assert found.tolist() == [[9.0, 9.0, 0.0]]


@pytest.mark.parametrize("frame_steps", [1, 2, 3, 8])
def test_a_sustained_force_may_span_frames(frame_steps: int):
    rng = np.random.default_rng(4)
    course = [(float(a), float(b)) for a, b in rng.uniform(0.0, 10.0, size=(24, 2))]
    expected = []
    for end in range(frame_steps, 25, frame_steps):
        in_frame = range(max(end - frame_steps, 4), end)  # the last steps of the windows that count for the frame
        windows = [np.min(course[last - 4 : last + 1], axis=0).max() for last in in_frame]
        expected.append(max(windows, default=0.0))
    assert frames_of(course, frame_steps=frame_steps)[:, 2].tolist() == expected


@pytest.fixture
def exact_world() -> Iterator[World]:
    with World(WorldCfg(solver_tolerance=1e-4)) as made:
        yield made


@pytest.mark.parametrize("first", ["robot", "ramp"])
def test_a_finger_that_rests_on_a_ramp_bears_its_own_weight(exact_world: World, first: str):
    """Normal force and friction together carry the weight, whichever of the two bodies Bullet names first."""
    world = exact_world
    tilt = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.4, 0.0))
    for name in ("robot", "ramp") if first == "robot" else ("ramp", "robot"):
        if name == "robot":
            above = tilt @ Pose.from_translation((0.0, 0.0, 0.15))
            robot = world.add_box("robot", size_m=(0.2, 0.2, 0.2), T_world_box=above, friction=1.0, mass_kg=2.0)
        else:
            world.add_box("ramp", size_m=(2, 2, 0.1), T_world_box=tilt, friction=1.0)
    monitor = ContactMonitor(world, robot)
    loads = monitor.add_loads(FingerLoads("r.a.fingers", [frozenset(["robot"])], physics_hz=240.0))
    normal = monitor.add(ContactView("r.environment", lambda *_: True))
    for _ in range(240):
        world.step()
        monitor.sample()
    monitor.end_frame()
    for _ in range(8):
        world.step()
        monitor.sample()
    monitor.end_frame()
    weight_n = 2.0 * 9.81
    assert float(loads.force_mean_n.get_value()) == pytest.approx(weight_n, rel=1e-3)
    assert float(loads.force_sustained_n.get_value()) == pytest.approx(weight_n, rel=1e-3)
    assert float(normal.force_mean_n.get_value()) == pytest.approx(weight_n * np.cos(0.4), rel=1e-3)


def test_only_forces_on_the_finger_count(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="robot", T_world_root=Pose.identity())
    world.add_box("wall", size_m=(0.1, 1, 1), T_world_box=Pose.from_translation((0.2, 0, 0)))
    drives = DriveGroup(body, {"rail": JointDrive(DriveMode.servo, max_effort=7.0, max_velocity=1.0)})
    drives.set_targets(["rail"], np.array([0.5]), np.zeros(1))
    monitor = ContactMonitor(world, body)
    sled, wheel = (
        monitor.add_loads(FingerLoads(f"r.{link}.fingers", [frozenset([link])], physics_hz=240.0))
        for link in ("sled", "wheel")
    )
    for _ in range(240):
        world.step()
        monitor.sample()
    monitor.end_frame()
    assert float(sled.force_sustained_n.get_value()) == pytest.approx(7.0, rel=0.02)
    assert float(wheel.force_max_n.get_value()) == 0.0


def box_on_floor(world: World, *, mass_kg: float) -> Body:
    """Returns a box of 0.2 m that lies on a floor."""
    world.add_box("floor", size_m=(2, 2, 0.1), T_world_box=Pose.from_translation((0, 0, -0.05)))
    above = Pose.from_translation((0, 0, 0.1))
    return world.add_box("robot", size_m=(0.2, 0.2, 0.2), T_world_box=above, mass_kg=mass_kg)


def test_a_finger_squeezed_between_two_bodies_bears_the_force_of_one(world: World) -> None:
    robot = box_on_floor(world, mass_kg=0.5)
    above = Pose.from_translation((0, 0, 0.3))
    world.add_box("weight", size_m=(0.2, 0.2, 0.2), T_world_box=above, mass_kg=30.0)
    monitor = ContactMonitor(world, robot)
    loads = monitor.add_loads(FingerLoads("r.a.fingers", [frozenset(["robot"])], physics_hz=240.0))
    for _ in range(480):
        world.step()
        monitor.sample()
    monitor.end_frame()
    assert loads.last_forces_n == pytest.approx([(30.0 + 0.5) * 9.81], rel=0.01)
    assert float(loads.force_sustained_n.get_value()) == pytest.approx((30.0 + 0.5) * 9.81, rel=0.05)


def test_forces_of_several_bodies_in_one_direction_add_up(world: World) -> None:
    robot = box_on_floor(world, mass_kg=0.5)
    for side in (-0.06, 0.06):
        above = Pose.from_translation((side, 0, 0.25))
        world.add_box(f"weight{side}", size_m=(0.1, 0.1, 0.1), T_world_box=above, mass_kg=5.0)
    monitor = ContactMonitor(world, robot)
    loads = monitor.add_loads(FingerLoads("r.a.fingers", [frozenset(["robot"])], physics_hz=240.0))
    for _ in range(480):
        world.step()
        monitor.sample()
    assert loads.last_forces_n == pytest.approx([(10.0 + 0.5) * 9.81], rel=0.01)
