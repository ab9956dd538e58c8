"""Sensors in a configuration: names of YAML files, entries of one's own, and types of another distribution."""

from dataclasses import fields
from pathlib import Path

import pytest

from tests.integration.distribution import install
from tests.objects.builders import most_heavy
from unlatch.configs.cameras import read_render_settings
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.group_files import option_names
from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg


def read(*overrides: str, config_dirs: tuple[Path, ...] = ()) -> CollectCfg:
    return load("open_drawer", *overrides, config_dirs=config_dirs)


@pytest.mark.slow
@pytest.mark.parametrize("robot", most_heavy(ROBOTS.own_names(), ["dual_panda", "franka_panda", "so101"]))
def test_every_yaml_is_a_sensor_of_its_name_on_every_robot(robot: str):
    names = option_names("sensor")
    cfg = read(f"sensors=[{','.join(names)}]", f"robot={robot}")
    sensors, arms = cfg.sensors, [arm.name for arm in cfg.robot.arms]
    wrists = [f"wrist_{arm}" for arm in arms] if len(arms) > 1 else ["wrist"]
    assert [sensor.name for sensor in sensors] == [
        name for given in names for name in (wrists if given == "wrist" else [given])
    ]
    for sensor in sensors:
        assert sensor.type in SENSORS.names()
        assert sensor.mount.body in (None, robot)


def test_a_camera_that_is_fitted_to_the_hand_is_on_each_arm():
    mine = "{name: eye, type: camera, mount: {fit: hand}, width: 64}"
    sensors = read(f"sensors=[wrist,{mine}]", "robot=dual_panda").sensors
    assert [(sensor.name, sensor.mount.link) for sensor in sensors] == [
        ("wrist_left", "left_panda_hand"),
        ("wrist_right", "right_panda_hand"),
        ("eye_left", "left_panda_hand"),
        ("eye_right", "right_panda_hand"),
    ]
    assert {sensor.mount.body for sensor in sensors} == {"dual_panda"}
    (alone,) = read("sensors=[wrist]").sensors
    assert (alone.name, alone.mount.body, alone.mount.link) == ("wrist", "franka_panda", "panda_hand")


def test_a_camera_on_one_arm_is_named_by_it():
    sensors = read("sensors=[wrist_right,front]", "sensors.0.width=64", "robot=dual_panda").sensors
    assert [(sensor.name, sensor.width, sensor.mount.link) for sensor in sensors] == [
        ("wrist_right", 64, "right_panda_hand"),
        ("front", 320, None),
    ]
    given = ["sensors=[wrist]", "sensors.0.width=64", "images.cameras=[wrist_left]", "images.cameras.0.height=32"]
    (camera,) = read(*given, "render=true", "robot=dual_panda").images.cameras
    assert (camera["name"], camera["width"], camera["height"]) == ("wrist_left", 64, 32)
    (camera,) = read_render_settings(read("robot=dual_panda"), ["wrist_left"]).cameras
    assert (camera.name, camera.mount.link) == ("wrist_left", "left_panda_hand")
    for words, message in (
        (["sensors=[wrist_left]"], r"=wrist_left names no camera of 'franka_panda', .* Expected wrist\."),
        (
            ["sensors=[wrist_up]", "robot=dual_panda"],
            r"whose arms are left, right\. Expected wrist_left or wrist_right\.",
        ),
        (["sensors=[imu_left]", "robot=dual_panda"], r"Unknown sensor 'imu_left'\."),
        (["sensors=[top_left]"], r"Unknown sensor 'top_left'\."),
    ):
        with pytest.raises(ConfigError, match=rf"^sensors\[0\].*{message}"):
            read(*words)


def test_an_index_of_a_sensor_is_its_place_in_the_list_that_was_given():
    sensors = read("sensors=[wrist,front]", "sensors.0.height=32", "sensors.1.width=64", "robot=dual_panda").sensors
    assert [(sensor.name, sensor.width, sensor.height) for sensor in sensors] == [
        ("wrist_left", 320, 32),
        ("wrist_right", 320, 32),
        ("front", 64, 240),
    ]


def test_an_entry_is_read_into_the_dataclass_of_its_type():
    (sensor,) = read(
        "sensors=[{name: top, type: camera, mount: {position_m: [0.5, 0, 2], look_at_m: [0.5, 0.01, 0]}, width: 64}]"
    ).sensors
    assert isinstance(sensor, CameraCfg)
    assert (sensor.name, sensor.width, sensor.height) == ("top", 64, 240)
    assert sensor.mount.position_m == [0.5, 0.0, 2.0]


def test_a_named_sensor_can_be_changed_and_others_added():
    cfg = read("sensors=[front]", "sensors.0.width=640", "+sensors.1=imu", "+sensors.2={name: still, type: imu}")
    assert isinstance(cfg.sensors[0], CameraCfg)
    assert cfg.sensors[0].width == 640
    assert [sensor.name for sensor in cfg.sensors] == ["front", "imu", "still"]


@pytest.mark.slow
def test_a_named_camera_of_images_can_be_changed_alone_and_is_a_sensor_of_its_name():
    given = ["images.cameras=[wrist,front]", "images.cameras.0.width=160", "sensors=[front]", "sensors.0.height=99"]
    cfg = read(*given, "render=true")
    wrist, front = cfg.images.cameras
    assert (wrist["name"], wrist["type"], wrist["width"]) == ("wrist", "camera", 160)
    assert front["height"] == 99
    assert read("images.cameras=[wrist]", "render=true").images.cameras == ["wrist"]


def test_a_named_camera_of_images_is_the_one_of_the_set_of_cameras_when_it_is_changed():
    cfg = read("camera=realsense", "images.cameras=[wrist]", "images.cameras.0.scale=0.5", "render=true")
    (wrist,) = cfg.images.cameras
    assert (wrist["preset"], wrist["scale"]) == ("realsense_d405", 0.5)


def test_a_camera_of_images_that_nobody_named_cannot_be_changed():
    with pytest.raises(ConfigError, match=r"^images\.cameras is not given, .* Add images\.cameras=\[front\]"):
        read("images.cameras.0.width=160")


@pytest.mark.slow
def test_a_folder_of_the_user_adds_sensors_and_tasks_that_name_them(tmp_path: Path):
    for group in ("sensor", "task"):
        (tmp_path / group).mkdir()
    (tmp_path / "sensor" / "top.yaml").write_text("defaults: [front, _self_]\nname: top\nheight: 100\n")
    (tmp_path / "task" / "watched.yaml").write_text(
        "# @package _global_\ndefaults: [open_drawer, _self_]\nsensors: [top, wrist]\n"
    )
    cfg = load("watched", config_dirs=(tmp_path,))
    assert [sensor.name for sensor in cfg.sensors] == ["top", "wrist"]
    assert isinstance(cfg.sensors[0], CameraCfg)
    assert cfg.sensors[0].height == 100
    with pytest.raises(ConfigError, match=r"^sensors\[0\]: Unknown sensor 'topp'\. Did you mean 'top'\?"):
        read("sensors=[topp]", config_dirs=(tmp_path,))


@pytest.mark.slow
def test_a_header_is_read_back_with_its_sensors_and_without_any():
    cfg = read("sensors=[wrist,imu]")
    header = {item.name: plain(getattr(cfg, item.name)) for item in fields(EpisodeCfg)}
    assert read_dataclass(EpisodeCfg, header, where="").sensors == cfg.sensors
    del header["sensors"]
    assert read_dataclass(EpisodeCfg, header, where="").sensors == []


THERMOMETER = '''
from dataclasses import dataclass

from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.state import Buffer


@dataclass
class ThermometerCfg(SensorCfg):
    """A thermometer."""

    offset_k: float = 0.0
    """Added to what it reads [K]."""


class Thermometer(Sensor[ThermometerCfg]):
    """It is colder higher up."""

    cfg_type = ThermometerCfg

    def __init__(self, cfg, world):
        super().__init__(cfg, world)
        self.temperature_k = Buffer()

    def _measure(self, T_world_sensor):
        self.temperature_k.set_value(300.0 - T_world_sensor.p[2] + self.cfg.offset_k)
'''


@pytest.fixture
def thermometer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another distribution with one class, one entry point and one YAML; its folder of YAML."""
    (tmp_path / "thermometer.py").write_text(THERMOMETER)
    install(tmp_path, "thermo", "sensors", monkeypatch, thermometer="thermometer:Thermometer")
    (tmp_path / "configs" / "sensor").mkdir(parents=True)
    (tmp_path / "configs" / "sensor" / "fever.yaml").write_text(
        "# a thermometer on the object\n"
        'name: fever\ntype: thermometer\nmount: {body: "${object.name}", position_m: [0, 0, 0.5]}\noffset_k: 2\n'
    )
    monkeypatch.setattr(SENSORS, "_all", None)
    return tmp_path / "configs"


@pytest.mark.slow
def test_a_sensor_of_another_distribution_is_configured_like_ours(thermometer: Path):
    (sensor,) = read("sensors=[fever]", config_dirs=(thermometer,)).sensors
    assert type(sensor).__name__ == "ThermometerCfg"
    assert sensor.mount.body == "drawer"
    with pytest.raises(ConfigError, match=r"^sensors\[0\]\.ofset_k is unknown\. Did you mean 'offset_k'\?"):
        read("sensors=[{name: a, type: thermometer, ofset_k: 1}]")
