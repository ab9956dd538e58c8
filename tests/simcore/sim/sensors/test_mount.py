"""Where a sensor is: on a link, in the world, looking at a point."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.simcore.sim.sensors.config import MountCfg, SensorCfg
from unlatch.simcore.sim.sensors.sensor import Mount


def test_a_pose_by_roll_pitch_and_yaw():
    cfg = MountCfg(position_m=[1.0, 2.0, 3.0], rpy_deg=[10.0, 20.0, 30.0])
    assert cfg.T_mount_sensor.is_close(Pose.from_rpy([1.0, 2.0, 3.0], np.radians([10.0, 20.0, 30.0])))


def test_looking_at_a_point_puts_it_on_the_z_axis_with_the_image_upright():
    T = MountCfg(position_m=[1.0, -1.0, 0.5], look_at_m=[0.2, 0.4, -0.3]).T_mount_sensor
    target = T.inverse() @ np.array([0.2, 0.4, -0.3])
    np.testing.assert_allclose(target[:2], 0.0, atol=1e-12)
    assert target[2] == pytest.approx(np.linalg.norm([0.8, 1.4, 0.8]))
    x, y, z = T.R.T
    assert x[2] == pytest.approx(0.0)  # level
    assert y[2] < 0.0  # rows go down
    np.testing.assert_allclose(np.cross(x, y), z, atol=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"position_m": [0.0]}, r"mount\.position_m has 1 numbers\. Expected 3"),
        ({"look_at_link": "plate"}, r"Set mount\.look_at_body"),
        ({"link": "hand"}, r"mount\.link='hand' is given without a body"),
        ({"rpy_deg": [0.0, 1.0, 0.0], "look_at_m": [1.0, 0.0, 0.0]}, "are both given"),
        ({"look_at_m": [0.0, 0.0, 1.0]}, "no side is up"),
        ({"look_at_m": [0.0, 0.0, 0.0]}, "no side is up"),
    ],
)
def test_an_impossible_mount_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        MountCfg(**fields)


@pytest.mark.parametrize("name", ["", "my camera", "a.b"])
def test_a_sensor_needs_a_name_that_can_be_a_key(name):
    with pytest.raises(ConfigError, match="cannot be a key of a record"):
        SensorCfg(name=name, type="imu")


@pytest.mark.integration
def test_a_missing_body_or_link_is_named_with_the_known_ones(world):
    world.add_box("table", size_m=(1, 1, 1), T_world_box=Pose.identity())
    with pytest.raises(
        ConfigError, match=r"mount\.body='tabel' is not a body .* of sensor 'eye'\. Did you mean 'table'\?"
    ):
        Mount(MountCfg(body="tabel"), world, owner="eye")
    with pytest.raises(ConfigError, match=r"mount\.link of sensor 'eye': Link 'leg' is not on body 'table'"):
        Mount(MountCfg(body="table", link="leg"), world, owner="eye")


def test_a_sensor_keeps_looking_at_a_link_that_moves(turntable):
    world, body = turntable
    cfg = MountCfg(
        position_m=[1.0, -1.0, 1.2], look_at_body="turntable", look_at_link="plate", look_at_m=[0.2, 0.0, 0.01]
    )
    mount = Mount(cfg, world, owner="eye")
    for angle in (0.0, 1.0, 2.5):
        body.set_joint_positions(["axis"], [angle])
        T_sensor_world = mount.T_world_sensor.inverse()
        x, y, z = T_sensor_world @ (body.link_pose("plate") @ np.array([0.2, 0.0, 0.01]))
        assert (x, y) == (pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9))
        assert z > 0.5
        assert T_sensor_world.rotate([0.0, 0.0, 1.0])[0] == pytest.approx(0.0, abs=1e-9)  # upright
        np.testing.assert_allclose(mount.T_world_sensor.p, [1.0, -1.0, 1.2])


def test_an_offset_turns_the_frame_after_all_else():
    plain = MountCfg(position_m=[0.0, -1.0, 1.0], look_at_m=[0.0, 0.0, 0.0])
    turned = replace(plain, rotation_offset_deg=[10.0, 20.0, 30.0])
    expected = plain.T_mount_sensor.R @ matrix_from_rpy(np.radians([10.0, 20.0, 30.0]))
    np.testing.assert_allclose(turned.T_mount_sensor.R, expected, atol=1e-12)


def test_straight_above_its_target_a_sensor_looks_down(turntable):
    world, body = turntable
    cfg = MountCfg(position_m=[0.0, 0.0, 2.0], look_at_body="turntable", look_at_link="plate")
    fresh = Mount(cfg, world, owner="eye").T_world_sensor
    np.testing.assert_allclose(fresh.R[:, 2], [0.0, 0.0, -1.0], atol=1e-12)
    mount = Mount(cfg, world, owner="eye")
    for x in (0.3, -0.2):
        body.set_root_pose(Pose(np.eye(3), np.array([x, 0.1, 0.0])))
        assert not mount.T_world_sensor.is_close(fresh)
    body.set_root_pose(Pose.identity())
    assert mount.T_world_sensor.is_close(fresh)
