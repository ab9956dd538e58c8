"""Contact views measure force, by pair, and latch the first one above the threshold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World


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
