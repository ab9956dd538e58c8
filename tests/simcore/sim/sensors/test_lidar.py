"""A lidar measures the distances that geometry says, along the rays that its pattern says."""

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.sensors.lidar import Lidar, LidarCfg, LidarNoise, LidarPattern
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration

MOUNT = MountCfg(position_m=[0.2, -0.1, 0.4], rpy_deg=[10.0, -20.0, 30.0])


def make(world: World, mount: MountCfg = MOUNT, **fields) -> Lidar:
    lidar = Lidar(LidarCfg(name="eye", type="lidar", mount=mount, **fields), world)
    lidar.update_state()
    return lidar


@pytest.mark.parametrize("pattern", LidarPattern)
def test_distances_and_intensities_of_a_wall_are_those_of_its_plane(world, pattern):
    T_sensor_wall = Pose.from_rpy((1.5, 0.2, 0.0), (0.0, 0.1, 0.4))  # its front goes through this point
    T_world_wall = MOUNT.T_mount_sensor @ T_sensor_wall @ Pose.from_translation((0.5, 0.0, 0.0))
    world.add_box("wall", size_m=(1.0, 30.0, 30.0), T_world_box=T_world_wall)
    # beyond Bullet's own batch of 16384 rays
    lidar = make(world, pattern=pattern, rows=120, columns=150, reflectivity={"wall": 0.5}, range_max_m=2.0)
    rays = lidar.cfg.directions()
    normal = T_sensor_wall.rotate([-1.0, 0.0, 0.0])
    with np.errstate(divide="ignore"):
        expected = (normal @ T_sensor_wall.p) / (rays @ normal)
    seen = (expected > 0.05) & (expected < 2.0)
    assert 0.05 < seen.mean() < 1.0
    ranges, intensity = lidar.range_m.get_value(), lidar.intensity.get_value()
    np.testing.assert_allclose(ranges[seen], expected[seen], atol=1e-6)
    np.testing.assert_allclose(intensity[seen], 0.5 * np.abs(rays @ normal)[seen], atol=1e-6)
    assert not ranges[~seen].any()
    assert not intensity[~seen].any()
    points = lidar.point_cloud.get_value()
    np.testing.assert_allclose((points[seen] - T_sensor_wall.p) @ normal, 0.0, atol=1e-3)
    assert np.isnan(points[~seen]).all()


def test_distances_of_a_ball_are_as_good_as_bullets_rays(world):
    T_sensor_ball = Pose.from_translation((1.0, 0.1, 0.05))
    world.add_sphere("ball", radius_m=0.3, T_world_sphere=MOUNT.T_mount_sensor @ T_sensor_ball, mass_kg=0.0)
    lidar = make(world, pattern=LidarPattern.solid_state, rows=40, columns=40)
    rays = lidar.cfg.directions()
    along = rays @ T_sensor_ball.p
    beside = along**2 - T_sensor_ball.p @ T_sensor_ball.p + 0.3**2
    well_on = beside > 0.3**2 * 0.25  # up to 60 degrees from its normals
    assert well_on.sum() > 50
    # Bullet's rays stop that far from curved surfaces, measured with 4000 of them: 1.34 mm up to 60 degrees
    expected = along - np.sqrt(np.where(well_on, beside, 0.0))
    np.testing.assert_allclose(lidar.range_m.get_value()[well_on], expected[well_on], atol=1.5e-3)
    assert not lidar.range_m.get_value()[beside < -0.01].any()


def test_rotating_lidars_see_all_around_and_solid_state_ones_a_window():
    around = LidarCfg(name="a", type="lidar", rows=3, columns=8, elevation_deg=[-10.0, 20.0]).directions()
    np.testing.assert_allclose(np.linalg.norm(around, axis=-1), 1.0)
    azimuth = np.degrees(np.arctan2(around[1, :, 1], around[1, :, 0]))
    np.testing.assert_allclose(np.sort(np.abs(azimuth)), [0, 45, 45, 90, 90, 135, 135, 180], atol=1e-9)
    np.testing.assert_allclose(np.degrees(np.arcsin(around[:, 0, 2])), [-10.0, 5.0, 20.0])
    window = LidarCfg(
        name="b", type="lidar", pattern=LidarPattern.solid_state, rows=2, columns=3, azimuth_deg=[-30.0, 30.0]
    ).directions()
    np.testing.assert_allclose(np.degrees(np.arctan2(window[0, :, 1], window[0, :, 0])), [-30.0, 0.0, 30.0], atol=1e-9)


def test_it_moves_with_its_link_and_its_points_are_not_recorded(turntable):
    world, body = turntable
    world.add_box("post", size_m=(0.2, 0.2, 3.0), T_world_box=Pose.from_translation((1.0, 0.0, 0.5)))
    mount = MountCfg(body="turntable", link="plate", position_m=[0.3, 0.0, 0.0])
    lidar = make(world, mount, rows=1, columns=4, elevation_deg=[0.0, 0.0])
    np.testing.assert_allclose(lidar.range_m.get_value(), [[0.0, 0.0, 0.6, 0.0]], atol=1e-3)
    body.set_joint_positions(["axis"], [np.pi / 2])
    lidar.update_state()
    # at (0, 0.3) now, turned left: the post is no longer on one of its four rays
    assert not lidar.range_m.get_value().any()
    assert set(lidar.state_dict(exclude_tags=NOT_RECORDED)) == {"position", "quat_xyzw", "range_m", "intensity"}


def test_noise_has_its_standard_deviation_and_share_and_is_the_same_for_the_same_moment(world):
    # a ball about the sensor: every ray meets it from within at no distance, so a wall far out on all sides instead
    for number, direction in enumerate(np.eye(3)[:2]):
        for side in (-1.0, 1.0):
            T = Pose.from_translation(MOUNT.T_mount_sensor.p + side * 2.5 * direction)
            size = np.where(direction > 0, 1.0, 6.0)
            world.add_box(f"wall{number}{side}", size_m=size, T_world_box=T)
    mount = MountCfg(position_m=MOUNT.position_m)
    fields = {"rows": 16, "columns": 400, "elevation_deg": [-5.0, 5.0]}
    truth = make(world, mount, **fields)
    noise = LidarNoise(range_std_m=0.02, dropout=0.1)
    noisy = make(world, mount, noise=noise, **fields)
    assert truth.range_m.get_value().all()
    back = noisy.range_m.get_value() > 0
    assert back.mean() == pytest.approx(0.9, abs=0.02)
    error = (noisy.range_m.get_value() - truth.range_m.get_value())[back]
    assert error.std() == pytest.approx(0.02, rel=0.05)
    assert abs(error.mean()) < 1e-3
    np.testing.assert_array_equal(
        make(world, mount, noise=noise, **fields).range_m.get_value(), noisy.range_m.get_value()
    )
    before = noisy.range_m.get_value()
    world.step()
    noisy.update_state()
    assert (noisy.range_m.get_value() != before).mean() > 0.8


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rows": 0}, r"rows=0 is out of range\. Expected 1 or more"),
        ({"rows": 1000, "columns": 1000}, r"rows\*columns=1000000 is out of range\. Expected 1 to 200000 rays"),
        ({"elevation_deg": [10.0, -10.0]}, "Expected the smaller and larger angle, from -90 to 90"),
        ({"azimuth_deg": [0.0]}, r"azimuth_deg=\[0\.0\] is invalid"),
        ({"range_min_m": 2.0, "range_max_m": 1.0}, r"range_max_m=1 is out of range\. Expected above 2 m"),
        ({"reflectivity": {"robot": 2.0}}, "reflectivity.robot=2 is out of range"),
    ],
)
def test_an_impossible_lidar_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        LidarCfg(name="eye", type="lidar", **fields)
