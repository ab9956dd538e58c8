"""Contact views measure force by pair and keep the first one above the threshold; loads sum the forces on a finger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView, FingerLoads, ObjectView
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
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


def object_view(rest_n: float = 0.0, *, physics_hz: float = 240.0) -> ObjectView:
    """Returns the view of an object that has borne a force at rest for one frame; a sustained force takes 5 steps."""
    view = ObjectView("can.furniture", lambda *_: True, physics_hz=physics_hz)
    feed(view, *[rest_n] * 8)
    view.end_frame()
    return view


def feed(view: ObjectView, *steps_n: float) -> None:
    for step, force_n in enumerate(steps_n):
        view.sample({("can", "table"): force_n} if force_n else {}, step=step, time_s=0.0)


class TestObjectView:
    def test_a_force_is_sustained_if_it_lasts_for_longer_than_20_ms(self) -> None:
        view = object_view()
        feed(view, 9.0, 9.0, 7.0, 9.0)
        view.end_frame()
        assert (float(view.force_max_n.get_value()), float(view.force_sustained_n.get_value())) == (9.0, 0.0)
        feed(view, 8.0, 50.0, 0.0)
        view.end_frame()
        values = [float(buffer.get_value()) for buffer in (view.force_max_n, view.force_mean_n, view.force_sustained_n)]
        assert values == [50.0, 58.0 / 3, 7.0], "the time of the sustained force began in the frame before"
        view.end_frame()
        assert float(view.force_sustained_n.get_value()) == 0.0

    def test_an_impact_is_no_violation_and_a_squeeze_is(self) -> None:
        view = object_view()
        view.watch(30.0)
        feed(view, *[500.0] * 4, 0.0, *[30.0] * 8)
        assert view.violation is None
        feed(view, *[31.0] * 4)
        assert view.violation is None
        feed(view, 40.0)
        assert view.violation is not None
        assert (view.violation.force_n, view.violation.pair, view.exceeded_n) == (31.0, ("can", "table"), 30.0)

    def test_what_the_object_bears_at_rest_is_allowed_in_addition(self) -> None:
        view = object_view(40.0)
        view.watch(30.0)
        feed(view, *[70.0] * 8)
        assert view.violation is None
        view.end_frame()
        view.watch(30.0)  # the next skill: the object still is not at rest
        feed(view, *[71.0] * 8)
        assert view.violation is not None
        assert view.exceeded_n == 70.0

    def test_a_touch_is_a_violation_only_where_nothing_touched_the_object_at_rest(self) -> None:
        for rest_n, touched in ((0.0, True), (0.5, False)):
            view = object_view(rest_n)
            view.watch(30.0, touch_n=1.0)
            feed(view, 1.0)
            assert view.violation is None
            feed(view, 1.5)
            assert (view.violation is not None) is touched
        view.watch(None, touch_n=1.0)
        feed(view, *[99.0] * 8)
        assert view.violation is None, "the rule is switched off"


def test_two_boxes_bear_their_weights_and_the_robot_is_in_no_view_of_an_object(world: World) -> None:
    world.add_box("floor", size_m=(2, 2, 0.1), T_world_box=Pose.from_translation((0, 0, -0.05)))
    bodies = {
        name: world.add_box(
            name, size_m=(0.2, 0.2, 0.2), T_world_box=Pose.from_translation((0, 0, height)), mass_kg=mass_kg
        )
        for name, height, mass_kg in (("lower", 0.1, 2.0), ("upper", 0.3, 1.0), ("robot", 0.5, 0.5))
    }
    monitor = ContactMonitor(world, bodies["robot"])
    views = {
        (name, other): monitor.add_object_view(
            ObjectView(f"{name}.{other}", lambda _link, body, _l, other=other: body == other, physics_hz=240.0),
            bodies[name],
        )
        for name, other in (("lower", "floor"), ("lower", "upper"), ("upper", "lower"), ("upper", "robot"))
    }
    on_robot = monitor.add(ContactView("robot.environment", lambda *_: True))
    for _ in range(60):
        for _ in range(8):
            world.step()
            monitor.sample()
        monitor.end_frame()
    forces = {key: float(view.force_sustained_n.get_value()) for key, view in views.items()}
    kg = {key: force / 9.81 for key, force in forces.items()}
    assert kg["lower", "floor"] == pytest.approx(3.5, rel=0.02)
    assert kg["lower", "upper"] == kg["upper", "lower"] == pytest.approx(1.5, rel=0.02)
    assert kg["upper", "robot"] == 0.0
    assert float(on_robot.force_mean_n.get_value()) == pytest.approx(0.5 * 9.81, rel=0.02)


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
