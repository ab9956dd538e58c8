"""Sensors in an episode: what they add to a record, what they leave alone, and images of any recorded frame."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.integration.distribution import install
from tests.integration.episodes import assert_verified, run
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.workflows.runs.loading import load

pytestmark = pytest.mark.integration

SMALL = [
    "sensors=[front,wrist,imu,lidar]",
    *(f"sensors.{i}.{size}" for i in (0, 1) for size in ("width=64", "height=48")),
]

ALTIMETER = """
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.state import Buffer


class Altimeter(Sensor):
    def __init__(self, cfg, world):
        super().__init__(cfg, world)
        self.height_m = Buffer()

    def _measure(self, T_world_sensor):
        self.height_m.set_value(T_world_sensor.p[2])
"""


@pytest.fixture(scope="module")
def record(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    return episode("open_drawer", *SMALL)


@pytest.mark.slow
def test_sensors_add_to_a_record_and_change_nothing_in_it(record, episode):
    without = episode("open_drawer")
    added = record.arrays.keys() - without.arrays.keys()
    assert added == {
        *(f"sensors.{name}.{key}" for name in ("front", "wrist", "imu", "lidar") for key in ("position", "quat_xyzw")),
        "sensors.imu.linear_acceleration",
        "sensors.imu.angular_velocity",
        "sensors.lidar.range_m",
        "sensors.lidar.intensity",
    }
    assert all(np.array_equal(record.arrays[key], array) for key, array in without.arrays.items())
    assert_verified(record)


@pytest.mark.slow
def test_a_sensor_of_another_distribution_is_recorded_by_its_class_and_its_yaml(tmp_path, monkeypatch):
    (tmp_path / "altimeter.py").write_text(ALTIMETER)
    install(tmp_path, "altimeter", "sensors", monkeypatch, altimeter="altimeter:Altimeter")
    (tmp_path / "sensor").mkdir()
    (tmp_path / "sensor" / "height.yaml").write_text(
        "# how high the hand is\nname: height\ntype: altimeter\n"
        'mount: {body: "${robot.name}", link: "${robot.arms[0].ee_link}"}\n'
    )
    monkeypatch.setattr(SENSORS, "_all", None)
    record = run(load("open_drawer", "sensors=[height]", config_dirs=(str(tmp_path),)))
    heights = record.arrays["sensors.height.height_m"]
    assert np.array_equal(heights.astype(np.float32), record.arrays["robots.franka_panda.left.ee_position"][:, 2])
    assert_verified(record)
