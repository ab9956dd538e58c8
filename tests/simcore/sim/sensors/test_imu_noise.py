"""Noise of an imu has the statistics that its strengths say, and is the same for the same episode."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.sensors.imu import Imu, ImuCfg, ImuNoise
from unlatch.simcore.sim.world import World

DT_S = 1.0 / 30.0


def errors_of(noise: ImuNoise, readings: int, seed: int = 5) -> np.ndarray:
    """(readings, 2, 3) errors of readings one after the other."""
    rng = np.random.default_rng(seed)
    bias, found = noise.first_bias(rng), []
    for _ in range(readings):
        error, bias = noise.reading(bias, DT_S, rng)
        found.append(error)
    return np.array(found)


def test_white_noise_has_the_configured_density():
    errors = errors_of(ImuNoise(acceleration_noise_density=2e-3, angular_noise_density=1e-4), 20_000)
    stds = errors.std(axis=0)
    np.testing.assert_allclose(stds[0], 2e-3 / np.sqrt(DT_S), rtol=0.03)
    np.testing.assert_allclose(stds[1], 1e-4 / np.sqrt(DT_S), rtol=0.03)
    np.testing.assert_allclose(errors.mean(axis=0), 0.0, atol=5 * 2e-3 / np.sqrt(DT_S * 20_000))
    after_each_other = np.mean(errors[1:] * errors[:-1], axis=0) / errors.var(axis=0)
    np.testing.assert_allclose(after_each_other, 0.0, atol=0.04)


def test_a_bias_is_drawn_once_and_stays():
    noise = ImuNoise(acceleration_bias_std=0.1, angular_bias_std=0.02)
    one = errors_of(noise, 5)
    assert (one == one[0]).all()
    many = np.array([errors_of(noise, 1, seed)[0] for seed in range(1000)])
    np.testing.assert_allclose(many.std(axis=0), [[0.1] * 3, [0.02] * 3], rtol=0.1)


def test_a_bias_wanders_with_the_root_of_time():
    noise = ImuNoise(acceleration_random_walk=1e-2, angular_random_walk=1e-3)
    walks = np.array([errors_of(noise, 90, seed) for seed in range(400)])  # 3 s each
    for readings in (30, 90):
        stds = walks[:, readings - 1].std(axis=0)
        np.testing.assert_allclose(stds, np.array([[1e-2] * 3, [1e-3] * 3]) * np.sqrt(readings * DT_S), rtol=0.15)


@pytest.mark.integration
def test_readings_are_the_true_ones_plus_the_noise_of_the_episode(turntable: tuple[World, Body]):
    world, body = turntable
    body.set_joint_positions(["axis"], [0.3], [2.0])
    mount = MountCfg(body="turntable", link="plate")
    noisy = ImuNoise(acceleration_noise_density=0.1, angular_bias_std=0.1)
    imus = [
        Imu(ImuCfg(name=name, type="imu", mount=mount, noise=noise), world)
        for name, noise in (("a", ImuNoise()), ("b", noisy), ("b", noisy), ("b", noisy))
    ]
    imus[3].seed = 1
    readings = []
    for _ in range(3):
        for imu in imus:
            imu.update_state()
        readings.append([imu.linear_acceleration.get_value() for imu in imus])
        world.step()
    found = np.array(readings)  # (3, 4, 3)
    np.testing.assert_array_equal(found[:, 1], found[:, 2])
    assert (found[:, 1] != found[:, 0]).all()
    assert (found[:, 1] != found[:, 3]).all()
    bias = imus[1].angular_velocity.get_value() - imus[0].angular_velocity.get_value()
    assert 0.0 < np.abs(bias).max() < 0.5


def test_an_impossible_strength_is_refused():
    with pytest.raises(ConfigError, match=r"noise.angular_bias_std=-1 is out of range"):
        ImuNoise(angular_bias_std=-1.0)
