"""An imu reads what physics says of circular motion and of rest."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.sensors.imu import Imu, ImuCfg
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration


def make(world: World, **mount) -> Imu:
    imu = Imu(ImuCfg(name="imu", type="imu", mount=MountCfg(**mount)), world)
    imu.update_state()
    return imu


def test_at_rest_it_reads_gravity_upwards_in_its_own_frame(turntable: tuple[World, Body]):
    world, _ = turntable
    imu = make(world, body="turntable", link="plate", rpy_deg=[90.0, 0.0, 0.0])
    world.step()
    imu.update_state()
    np.testing.assert_allclose(imu.linear_acceleration.get_value(), [0.0, 9.81, 0.0], atol=1e-6)
    np.testing.assert_allclose(imu.angular_velocity.get_value(), 0.0, atol=1e-6)


def test_in_circular_motion_it_reads_the_centripetal_acceleration(turntable: tuple[World, Body]):
    world, body = turntable
    body.set_joint_positions(["axis"], [0.3], [2.0])
    imu = make(world, body="turntable", link="plate", position_m=[0.4, 0.0, 0.1])
    for _ in range(4):
        world.step()
        imu.update_state()
        # the mean over a step, seen from its end: half a step's turn off the radius
        half = 0.5 * 2.0 * world.dt
        expected = 2.0**2 * 0.4 * np.array([-np.cos(half), np.sin(half), 0.0]) + [0.0, 0.0, 9.81]
        np.testing.assert_allclose(imu.linear_acceleration.get_value(), expected, atol=2e-3)
        np.testing.assert_allclose(imu.angular_velocity.get_value(), [0.0, 0.0, 2.0], atol=1e-4)
    np.testing.assert_allclose(imu.position.get_value()[2], 0.6)


def test_the_acceleration_is_the_mean_since_the_last_reading(turntable: tuple[World, Body]):
    world, body = turntable
    imu = make(world, body="turntable", link="plate", position_m=[0.4, 0.0, 0.0])
    before = imu.mount.velocity()[0]
    for speed in (0.1, 0.3, 0.7, 0.8):
        body.set_joint_positions(["axis"], [0.0], [speed])
        world.step()
    imu.update_state()
    change = (imu.mount.velocity()[0] - before) / (4 * world.dt)
    T = imu.T_world_sensor
    np.testing.assert_allclose(T.rotate(imu.linear_acceleration.get_value()), change - [0.0, 0.0, -9.81], atol=1e-9)


def test_where_no_time_has_passed_loaded_values_stay(turntable: tuple[World, Body]):
    world, body = turntable
    imu = make(world, body="turntable", link="plate")
    recorded = {"linear_acceleration": np.array([1.0, 2.0, 3.0]), "angular_velocity": np.array([4.0, 5.0, 6.0])}
    imu.load_state_dict(recorded)
    body.set_joint_positions(["axis"], [1.0], [2.0])
    imu.update_state()
    for name, value in recorded.items():
        assert imu.state_dict()[name].tolist() == value.tolist()


def test_an_imu_without_a_body_is_at_rest(turntable: tuple[World, Body]):
    imu = make(turntable[0], position_m=[0.0, 0.0, 1.0])
    np.testing.assert_array_equal(imu.linear_acceleration.get_value(), [0.0, 0.0, 9.81])
    assert not imu.angular_velocity.get_value().any()
