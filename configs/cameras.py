"""Reads cameras for rendering records: names or entries, independent of the sensors of the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import CamerasCfg, EpisodeCfg, check_sensors
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.config import RandomizationCfg
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.simcore.sim.sensors.config import SensorCfg

if TYPE_CHECKING:
    from unlatch.configs.composition import Request

KEY = "cameras"
DEFAULT_CAMERAS = ("front", "wrist")
"""Default names of cameras."""


@dataclass
class _Additions:
    """Values that rendering adds to an existing configuration."""

    cameras: list[SensorCfg] = field(default_factory=list)
    randomization: RandomizationCfg = field(default_factory=RandomizationCfg)


@dataclass(frozen=True)
class RenderSettings:
    """Cameras and visual randomization for rendering records."""

    cameras: list[CameraCfg]
    """The cameras."""
    randomization: RandomizationCfg | None
    """New values are drawn by its visual rules; None: the appearance of the recording."""


def read_render_settings(
    cfg: EpisodeCfg,
    cameras: Sequence[Any] | None = None,
    *,
    size_px: Sequence[int] | None = None,
    randomization: str | None = None,
    request: Request | None = None,
) -> RenderSettings:
    """Reads the cameras and visual randomization for rendering episodes.

    Args:
        cfg: Configuration of the episodes; references such as `${robot.name}` refer to it.
        cameras: Names of cameras of the recording, names of YAML files of the group `sensor`, or entries; None: the
            cameras of the recording, or else `DEFAULT_CAMERAS`.
        size_px: Width and height of the images of all cameras; None: each camera has its own.
        randomization: Name of a YAML file of its group; None: none.
        request: Overrides such as `cameras.0.width=640`, and folders of YAML files.

    Raises:
        ConfigError: A camera cannot be read, is not a camera, or does not fit the episodes.
    """
    if cameras is None:
        cameras = [
            sensor.name for sensor in cfg.all_sensors().values() if isinstance(sensor, CameraCfg)
        ] or DEFAULT_CAMERAS
    values = plain({key: getattr(cfg, key) for key in ("robot", "object", "objects", "task", "world")})
    own = {sensor.name: plain(sensor) for sensor in cfg.all_sensors().values()}
    entries = [own.get(item, item) if isinstance(item, str) else item for item in cameras]
    groups = {} if randomization is None else {"randomization": randomization}
    from unlatch.configs.composition import Request, compose_additions  # they import Hydra

    content = compose_additions(values, sensors={KEY: entries}, groups=groups, request=request or Request())
    found = read_dataclass(_Additions, content, where="")
    made = []
    for index, sensor in enumerate(found.cameras):
        if not isinstance(sensor, CameraCfg):
            raise ConfigError(
                f"{KEY}[{index}] is a sensor of type '{sensor.type}'. Expected a camera. Name another.",
                key=f"{KEY}[{index}]",
            )
        made.append(sensor if size_px is None else _resize(sensor, size_px, f"{KEY}[{index}]"))
    if not made:
        raise ConfigError(f"{KEY}=[] is empty. Expected at least one camera. Name one.", key=KEY)
    check_sensors(cfg, {f"{KEY}[{index}]": camera for index, camera in enumerate(made)})
    return RenderSettings(made, found.randomization if groups else None)


def _resize(camera: CameraCfg, size_px: Sequence[int], key: str) -> CameraCfg:
    """Returns a camera with another size of images; its vertical field of view stays.

    Raises:
        ConfigError: Its intrinsics are of one size.
    """
    if camera.intrinsics is not None:
        raise ConfigError(
            f"size_px={list(size_px)} does not fit {key} '{camera.name}', whose intrinsics are those of "
            f"{camera.width} x {camera.height} pixels. Expected cameras with a field of view. Remove size_px, or name "
            "another camera.",
            key=key,
        )
    width, height = size_px
    return replace(camera, width=width, height=height)


def with_cameras(cfg: EpisodeCfg, cameras: Sequence[CameraCfg]) -> EpisodeCfg:
    """Returns the configuration with cameras as its only sensors."""
    return replace(cfg, camera=CamerasCfg(), sensors=list(cameras))
