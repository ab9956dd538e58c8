"""Cameras that look at records: by name, or entries of their own, whatever sensors an episode was made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unlatch.configs.composition import Request, compose_additions
from unlatch.configs.cross_checks import check_sensors
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import CamerasCfg, EpisodeCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.config import RandomizationCfg
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.simcore.sim.sensors.config import SensorCfg

KEY = "cameras"
DEFAULT = ("front", "wrist")
"""Names of cameras where nobody names any."""


@dataclass
class _Beside:
    """What is read beside a configuration that is there already."""

    cameras: list[SensorCfg] = field(default_factory=list)
    randomization: RandomizationCfg = field(default_factory=RandomizationCfg)


@dataclass(frozen=True)
class RenderSettings:
    """Who looks at a record, and how it looks."""

    cameras: list[CameraCfg]
    """The cameras."""
    randomization: RandomizationCfg | None
    """Whose visual rules are drawn anew; None: it looks as it did."""


def read_render_settings(
    cfg: EpisodeCfg,
    cameras: Sequence[Any] | None = None,
    *,
    randomization: str | None = None,
    request: Request | None = None,
) -> RenderSettings:
    """Reads cameras for episodes of a configuration.

    Args:
        cfg: Configuration of the episodes; references such as `${robot.name}` are to it.
        cameras: Names of its own cameras or of YAML files of the group `sensor`, or entries; None: the cameras among
            its own, else `DEFAULT`.
        randomization: Name of a YAML file of the group `randomization`; None: none.
        request: Overrides such as `cameras.0.width=640`, and folders of the command line.

    Raises:
        ConfigError: One cannot be read, is no camera or does not fit the episodes.
    """
    if cameras is None:
        cameras = [sensor.name for sensor in cfg.all_sensors().values() if isinstance(sensor, CameraCfg)] or DEFAULT
    values = plain({key: getattr(cfg, key) for key in ("robot", "object", "objects", "task", "world")})
    own = {sensor.name: plain(sensor) for sensor in cfg.all_sensors().values()}
    entries = [own.get(item, item) if isinstance(item, str) else item for item in cameras]
    groups = {} if randomization is None else {"randomization": randomization}
    content = compose_additions(values, sensors={KEY: entries}, groups=groups, request=request or Request())
    found = read_dataclass(_Beside, content, where="")
    made = []
    for index, sensor in enumerate(found.cameras):
        if not isinstance(sensor, CameraCfg):
            raise ConfigError(
                f"{KEY}[{index}] is a sensor of type '{sensor.type}'. Expected a camera. Name another.",
                key=f"{KEY}[{index}]",
            )
        made.append(sensor)
    if not made:
        raise ConfigError(f"{KEY}=[] is empty. Expected at least one camera. Name one.", key=KEY)
    check_sensors(cfg, {f"{KEY}[{index}]": camera for index, camera in enumerate(made)})
    return RenderSettings(made, found.randomization if groups else None)


def with_cameras(cfg: EpisodeCfg, cameras: Sequence[CameraCfg]) -> EpisodeCfg:
    """The configuration of episodes that only cameras look at."""
    return replace(cfg, camera=CamerasCfg(), sensors=list(cameras))
