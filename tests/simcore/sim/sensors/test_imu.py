"""An imu reads what physics says of circular motion and of rest, plus noise with the statistics of its strengths."""

import numpy as np
import pytest

from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.sensors.imu import Imu, ImuCfg, ImuNoise

pytestmark = pytest.mark.integration


@pytest.fixture
def make(turntable):
    """Makes an imu on the plate of the turntable, or elsewhere."""

    def of(*, noise=None, name="imu", body="turntable", **mount):
        mount = MountCfg(body=body, link="plate" if body else None, **mount)
        imu = Imu(ImuCfg(name=name, type="imu", mount=mount, noise=noise or ImuNoise()), turntable[0])
        imu.update_state()
        return imu

    return of


class TestReading:
    def test_at_rest_it_reads_gravity_upwards_in_its_own_frame(self, turntable, make):
        imu = make(rpy_deg=[90.0, 0.0, 0.0])
        turntable[0].step()
        imu.update_state()
        np.testing.assert_allclose(imu.linear_acceleration.get_value(), [0.0, 9.81, 0.0], atol=1e-6)
        np.testing.assert_allclose(imu.angular_velocity.get_value(), 0.0, atol=1e-6)
        free = make(body=None, position_m=[0.0, 0.0, 1.0])
        np.testing.assert_array_equal(free.linear_acceleration.get_value(), [0.0, 0.0, 9.81])
        assert not free.angular_velocity.get_value().any()

    def test_in_circular_motion_it_reads_the_centripetal_acceleration(self, turntable, make):
        world, body = turntable
        body.set_joint_positions(["axis"], [0.3], [2.0])
        imu = make(position_m=[0.4, 0.0, 0.1])
        for _ in range(4):
            world.step()
            imu.update_state()
            # the mean over a step, seen from its end: half a step's turn off the radius
            half = 0.5 * 2.0 * world.dt
            expected = 2.0**2 * 0.4 * np.array([-np.cos(half), np.sin(half), 0.0]) + [0.0, 0.0, 9.81]
            np.testing.assert_allclose(imu.linear_acceleration.get_value(), expected, atol=2e-3)
            np.testing.assert_allclose(imu.angular_velocity.get_value(), [0.0, 0.0, 2.0], atol=1e-4)
        np.testing.assert_allclose(imu.position.get_value()[2], 0.6)

    def test_the_acceleration_is_the_mean_since_the_last_reading(self, turntable, make):
        world, body = turntable
        imu = make(position_m=[0.4, 0.0, 0.0])
        before = imu.mount.velocity()[0]
        for speed in (0.1, 0.3, 0.7, 0.8):
            body.set_joint_positions(["axis"], [0.0], [speed])
            world.step()
        imu.update_state()
        change = (imu.mount.velocity()[0] - before) / (4 * world.dt)
        found = imu.T_world_sensor.rotate(imu.linear_acceleration.get_value())
        np.testing.assert_allclose(found, change - [0.0, 0.0, -9.81], atol=1e-9)

    def test_where_no_time_has_passed_loaded_values_stay(self, turntable, make):
        imu = make()
        recorded = {"linear_acceleration": np.array([1.0, 2.0, 3.0]), "angular_velocity": np.array([4.0, 5.0, 6.0])}
        imu.load_state_dict(recorded)
        turntable[1].set_joint_positions(["axis"], [1.0], [2.0])
        imu.update_state()
        for name, value in recorded.items():
            assert imu.state_dict()[name].tolist() == value.tolist()


DT_S = 1.0 / 30.0


def errors_of(readings, seed=5, **strengths):
    """(readings, 2, 3) errors of readings one after the other."""
    noise, rng, found = ImuNoise(**strengths), np.random.default_rng(seed), []
    bias = noise.first_bias(rng)
    for _ in range(readings):
        error, bias = noise.reading(bias, DT_S, rng)
        found.append(error)
    return np.array(found)


class TestNoise:
    def test_white_noise_has_the_configured_density(self):
        errors = errors_of(10_000, acceleration_noise_density=2e-3, angular_noise_density=1e-4)
        expected = np.array([[2e-3], [1e-4]]) / np.sqrt(DT_S)
        np.testing.assert_allclose(errors.std(axis=0), np.tile(expected, 3), rtol=0.03)
        np.testing.assert_allclose(errors.mean(axis=0), 0.0, atol=5 * 2e-3 / np.sqrt(DT_S * 10_000))
        after_each_other = np.mean(errors[1:] * errors[:-1], axis=0) / errors.var(axis=0)
        np.testing.assert_allclose(after_each_other, 0.0, atol=0.04)

    def test_a_bias_is_drawn_once_and_stays(self):
        strengths = {"acceleration_bias_std": 0.1, "angular_bias_std": 0.02}
        one = errors_of(5, **strengths)
        assert (one == one[0]).all()
        many = np.array([errors_of(1, seed, **strengths)[0] for seed in range(1000)])
        np.testing.assert_allclose(many.std(axis=0), [[0.1] * 3, [0.02] * 3], rtol=0.1)

    def test_a_bias_wanders_with_the_root_of_time(self):
        strengths = {"acceleration_random_walk": 1e-2, "angular_random_walk": 1e-3}
        walks = np.array([errors_of(60, seed, **strengths) for seed in range(300)])  # 2 s each
        for readings in (20, 60):
            stds = walks[:, readings - 1].std(axis=0)
            expected = np.array([[1e-2] * 3, [1e-3] * 3]) * np.sqrt(readings * DT_S)
            np.testing.assert_allclose(stds, expected, rtol=0.15)

    def test_readings_are_the_true_ones_plus_the_noise_of_the_episode(self, turntable, make):
        world, body = turntable
        body.set_joint_positions(["axis"], [0.3], [2.0])
        noisy = ImuNoise(acceleration_noise_density=0.1, angular_bias_std=0.1)
        imus = [make(name=name, noise=noise) for name, noise in (("a", None), ("b", noisy), ("b", noisy), ("b", noisy))]
        imus[3].seed = 1
        readings = []
        for _ in range(3):
            for imu in imus:
                imu.update_state()
            readings.append([imu.linear_acceleration.get_value() for imu in imus])
            world.step()
        found = np.array(readings[1:])  # (2, 4, 3)
        np.testing.assert_array_equal(found[:, 1], found[:, 2])
        assert (found[:, 1] != found[:, 0]).all()
        assert (found[:, 1] != found[:, 3]).all()
        bias = imus[1].angular_velocity.get_value() - imus[0].angular_velocity.get_value()
        assert 0.0 < np.abs(bias).max() < 0.5
