"""Sensors in an episode: what they add to a record, what they leave alone, and images of any recorded frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.integration.distribution import install
from tests.integration.episodes import assert_verified, run
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.workflows.runs.loading import load
from unlatch.workflows.viewing.scene_picture import open_scene

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
def test_sensors_add_to_a_record_and_change_nothing_in_it(
    record: EpisodeRecord, episode: Callable[..., EpisodeRecord]
) -> None:
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
def test_an_imu_on_the_hand_agrees_with_the_recorded_motion(record: EpisodeRecord) -> None:
    arrays = record.arrays
    hand = "robots.franka_panda.left.ee"
    assert np.array_equal(arrays["sensors.imu.position"].astype(np.float32), arrays[f"{hand}_position"])
    reading = np.linalg.norm(arrays["sensors.imu.linear_acceleration"], axis=1)
    np.testing.assert_allclose(reading[:3], 9.81, atol=0.05)  # it stands still
    assert reading.max() < 60.0
    speed = np.linalg.norm(arrays["sensors.imu.angular_velocity"], axis=1)
    assert speed[:3].max() < 0.02
    assert speed.max() > 0.1


@pytest.mark.slow
def test_images_differ_between_frames_and_are_equal_for_the_same_frame(record: EpisodeRecord) -> None:
    with open_scene(load("open_drawer", *SMALL), 0) as drawn:
        scene = drawn.episode.scene.state_tree
        scene.enable_rgb_rendering()
        scene.enable_depth_rendering()
        scene.enable_segmentation_rendering()
        scene.enable_instance_id_segmentation_rendering()
        scene.enable_normals_rendering()

        def images(frame: int) -> dict[str, np.ndarray]:
            scene.load_state_dict(record.state_at(frame))
            scene.write_replay_data()
            scene.update_state()
            return scene.state_dict(include_tags=["rgb", "depth", "segmentation", "normals"])

        first, last, again = images(0), images(-1), images(0)
        assert len(first) == 2 * 7
        for key, image in first.items():
            assert np.array_equal(image, again[key]), key
            assert key.endswith("labels") or not np.array_equal(image, last[key]), key
        labels = first["sensors.front.segmentation_labels"].tolist()
        assert {"robot", "drawer", "table"} <= set(labels)
        seen = {labels[number] for number in np.unique(first["sensors.front.segmentation_image"])}
        assert {"robot", "drawer"} <= seen
        # what is no image is what was recorded, but for efforts: they are measured, and cannot be written
        state = scene.state_dict(exclude_tags=NOT_RECORDED)
        for key, value in record.state_at(0).items():
            if key in state and not key.endswith("joint_efforts"):
                np.testing.assert_allclose(state[key], value, atol=1e-6, err_msg=key)


@pytest.mark.slow
def test_a_sensor_of_another_distribution_is_recorded_by_its_class_and_its_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
